/** A request with a canary in one place. */
export interface PlantedRequest {
  /** The path, if it is not that of the way in. */
  path?: string
  body: object | FormData
}

/** The requests by which a case prepares itself, such as for a stored item. */
export interface Setup {
  /** Sends a request as a client, with the inference key. Throws if it fails. */
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  post(path: string, body: object | FormData): Promise<any>
  /** Sends a request with a key of the same workspace that no filter applies to. */
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  postUnfiltered(path: string, body: object): Promise<any>
  /** Sends a request as an administrator. */
  manage(method: string, path: string, body: object): Promise<unknown>
}

export interface CoverageCase {
  /** Place of the canary, in the words of the page. */
  place: string
  /** The part of the request that the hit names. */
  part: string
  plant(canary: string, setup: Setup): PlantedRequest | Promise<PlantedRequest>
  /** Set if what is sent on does not have the text itself: it is hashed, counted or left out. */
  isNotSent?: true
  /** Set if it cannot be redacted: the request is refused. */
  isRefused?: true
}

/** One way into the gateway. */
export interface WayIn {
  name: string
  /** The id of its operation. */
  operation: string
  path: string
  /** Changes a request so that the reply is streamed; absent if it cannot be. */
  stream?: (request: PlantedRequest) => PlantedRequest
  /** No provider is called. */
  isEstimated?: true
  /** The reply repeats the client's own input. Messages to be sent again are scanned then. */
  returnsInput?: true
  cases: CoverageCase[]
}

/** A case whose body is the usual one with other fields. */
export function caseOf(
  place: string,
  part: string,
  build: (canary: string) => object,
  more: Pick<CoverageCase, 'isNotSent'> = {},
): CoverageCase {
  return { place, part, plant: (canary) => ({ body: build(canary) }), ...more }
}

export const toBase64 = (data: string | Uint8Array) => Buffer.from(data).toString('base64')

export const streamWithField = ({ path, body }: PlantedRequest): PlantedRequest => ({
  ...(path !== undefined && { path }),
  body: { ...body, stream: true },
})

export function toForm(fields: Record<string, string | File>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return form
}
