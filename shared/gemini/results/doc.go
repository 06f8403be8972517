// Package results streams the results of a batch, item by item. Gemini keeps them in a result file,
// or in the batch itself where its input was inline; [Client.Open] finds out which. A [Reader]
// holds one item at a time, because the whole can have more than a gigabyte. Of a file or inline, an
// item over [LargeItemBytes] takes room of the [Client], and its memory is given back with it.
//
// Reading the same result twice gives the same items with the same keys. It does not give them in the
// same order: Gemini keeps none in inline results. So what was done is recognised by its key, and
// [Reader.Tally] tells without a list of them whether two reads brought the same keys.
//
//   - A failed request is an item with an Error. So is an item that cannot be used: null, a line
//     that is not JSON, or one that is too large. A batch that SUCCEEDED may have such items.
//   - An item without a key has none; [Reader.ByPosition] names it by its position all the same. One
//     with a key that an earlier item had is Repeated. A key that is long or not printable is cut and
//     ends in a hash [K4].
//   - A download that breaks off, or brings nothing for a minute, is a transient error: open the
//     result again. So is one that ends in the middle of a line, unless it has the length that was
//     announced: without one, a connection that breaks looks like the end. One that breaks between two
//     lines is seen only by the number of requests: [Client.Count].
//   - A result that Gemini says it does not have is [ErrNotFound]. It keeps results for six weeks, by its
//     guide. A look-up of the batch that is stale, or says nothing, is a transient error.
//
// Files are downloaded without the SDK, whose own download returns an error's body as data and cuts
// the file's id.
package results
