/** The JSON of a result that many requests receive: encoded once, and compressed once for each encoding. */
export class SharedBody {
  readonly text: string
  readonly #compressed = new Map<string, Promise<Uint8Array>>()

  constructor(result: object) {
    this.text = JSON.stringify(result)
  }

  compress(encoding: string, run: (text: string) => Promise<Uint8Array>): Promise<Uint8Array> {
    const known = this.#compressed.get(encoding)
    if (known) return known
    const running = run(this.text)
    this.#compressed.set(encoding, running)
    running.catch(() => this.#compressed.delete(encoding))
    return running
  }
}

const bodiesByResult = new WeakMap<object, SharedBody>()
const bodiesByResponse = new WeakMap<Response, SharedBody>()

/** Marks a result that is returned for several requests, and does not change any more. */
export function shareResult<T extends object>(result: T): T {
  bodiesByResult.set(result, new SharedBody(result))
  return result
}

/** Undefined for a result of one request. */
export function sharedBodyOf(result: unknown): SharedBody | undefined {
  return typeof result === 'object' && result !== null ? bodiesByResult.get(result) : undefined
}

export function attachSharedBody(response: Response, body: SharedBody): Response {
  bodiesByResponse.set(response, body)
  return response
}

export function findSharedBody(response: Response): SharedBody | undefined {
  return bodiesByResponse.get(response)
}
