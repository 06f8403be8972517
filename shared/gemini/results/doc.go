// Package results streams the results of a batch, item by item. Gemini keeps them in a result file,
// or in the batch itself where its input was inline; [Client.Open] finds out which. A [Reader]
// holds one item at a time, because the whole can have more than a gigabyte.
//
// Reading the same result twice gives the same items in the same order, with the same keys and the
// same bytes. So work on the items can be resumed where it stopped: [Reader.SkipTo].
//
//   - A failed request is an item with an Error. So is an item that cannot be used: null, a line
//     that is not JSON, or one that is too large. A batch that SUCCEEDED may have such items.
//   - An item without a key is called index-N, counted from 0. A key that an earlier item had gets
//     '~' and the item's index appended, so that keys are unique [K4]. A key that is long or not
//     printable is cut and ends in a hash.
//   - A download that breaks off, or brings nothing for a minute, is a transient error: open the
//     result again.
//   - A result that Gemini no longer has is [ErrLost]: it keeps files for days only.
//
// Files are downloaded without the SDK, whose own download returns an error's body as data and cuts
// the file's id.
package results
