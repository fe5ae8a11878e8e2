/** A part of a blob, from `start` up to but not including `end`. */
export interface ByteRange {
  start: number
  end: number
}

export interface StoredBlob {
  key: string
  /** Milliseconds since 1970. */
  modifiedAt: number
}

/** The longest pause between two chunks of a blob, in milliseconds. */
export const maxBlobSilenceMs = 30_000

/** Stores bytes under keys. Nothing is held in memory: bytes are streamed both ways, as fast as their reader takes them. */
export interface BlobStore {
  /** Takes the bytes of a local file, which may be moved away. They are durable and complete when it returns. */
  put(key: string, path: string): Promise<void>
  /** The bytes, or a part of them; null if there are none under this key. */
  read(key: string, range?: ByteRange): Promise<Blob | ReadableStream<Uint8Array> | null>
  /** A missing key is not an error. */
  delete(key: string): Promise<void>
  /** All blobs whose keys begin so, page by page. */
  list(start?: string): AsyncGenerator<StoredBlob[]>
}
