import { runInSlices } from '../time/time-slicer.ts'

/** Copying a megabyte into new memory takes a millisecond or more. */
const stepBytes = 256 * 1024

/** One array of all chunks. Megabytes are copied in slices, between which other requests are served. */
export function joinBytes(chunks: readonly Uint8Array[]): Promise<Uint8Array<ArrayBuffer>> {
  return runInSlices(copyChunks(chunks))
}

function* copyChunks(chunks: readonly Uint8Array[]): Generator<undefined, Uint8Array<ArrayBuffer>> {
  const joined = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += stepBytes) {
      joined.set(chunk.subarray(at, at + stepBytes), end + at)
      yield
    }
    end += chunk.length
  }
  return joined
}
