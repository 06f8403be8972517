// Package results streams what a batch came to, item by item, from where Gemini keeps it: a result
// file, or the batch itself where its input was inline. [Client.Open] finds out which; a [Reader]
// then holds one item at a time, however large the whole is: over a gigabyte was seen.
//
// The same result read twice gives the same items in the same order, with the same keys and the
// same bytes, so that work on them can be taken up again where it ended: [Reader.SkipTo].
//
//   - A request that failed is an item with an Error, and so is one that cannot be used: null, a
//     line that is not JSON, one that is too large. SUCCEEDED does not mean that every item did.
//   - An item without a key is called index-N, counted from 0. A key that another item before it
//     had gets the item's index behind a '~', so that each item has a key of its own [K4]. One that
//     is no readable name, or long, ends in a hash.
//   - A download that breaks off, or brings nothing for a minute, is an error that passes: open the
//     result again.
//   - A result that Gemini no longer has is [ErrLost]: files are kept for days, not for ever.
//
// Files are downloaded without the SDK, whose own download takes an error for data and cuts the
// file's id.
package results
