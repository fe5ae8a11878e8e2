/**
 * Milliseconds the source of a streamed response may be silent. Silence of other responses means that the client does
 * not read.
 */
export const sourceSilences = new WeakMap<Response, number>()

/** Streamed responses that report when they wait for the client: their source may be silent for long. */
export const clientWaits = new WeakMap<Response, ClientWait>()

/** Reports when a stream waits for its client to read, as opposed to its source. */
export class ClientWait {
  #listener: ((isWaiting: boolean) => void) | null = null

  listen(listener: (isWaiting: boolean) => void): void {
    this.#listener = listener
  }

  begin(): void {
    this.#listener?.(true)
  }

  end(): void {
    this.#listener?.(false)
  }
}

/** Responses too short to be compressed. */
export const shortResponses = new WeakSet<Response>()

/** Bytes; a shorter response fits into one packet anyway. */
export const minCompressedBytes = 1024
