import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { UsageError } from '../command.ts'

/** Calls the API of a server. A status of 400 or more is an `ApiError`. */
export interface ApiClient {
  call(method: string, path: string, body?: unknown): Promise<JsonObject>
}

export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const timeoutMs = 60_000

/** The API of a running server, which a management key gives access to. */
export function createApiClient(url: string, key: string): ApiClient {
  const base = `${parseServerUrl(url)}/api/v1`
  return {
    call: async (method, path, body) => {
      const response = await send(`${base}${path}`, {
        method,
        redirect: 'error',
        headers: {
          authorization: `Bearer ${key}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return readReply(response)
    },
  }
}

function parseServerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash)
    throw new UsageError('--url must be the address of a server, such as https://gate.example.com.')
  return url.href.replace(/\/+$/, '')
}

async function send(url: string, init: RequestInit): Promise<Response> {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(), timeoutMs)
  try {
    return await fetch(url, { ...init, signal: controller.signal })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`The server at ${new URL(url).origin} does not answer: ${reason}`)
  } finally {
    clearTimeout(timer)
  }
}

async function readReply(response: Response): Promise<JsonObject> {
  const text = await response.text()
  const reply = parseObject(text)
  if (response.ok && reply) return reply
  const message = asString(asObject(reply?.error)?.message)
  throw new ApiError(response.status, message ?? `The server replied with the status ${response.status}.`)
}

function parseObject(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return undefined
  }
}

const pageSize = 100
/** More than the records that an organization may have of any kind. */
const maxPages = 1000

/** All records of a list. */
export async function listRecords(
  api: ApiClient,
  path: string,
  query: Record<string, string> = {},
): Promise<JsonObject[]> {
  const records: JsonObject[] = []
  for (let page = 0; page < maxPages; page++) {
    const search = new URLSearchParams({
      ...query,
      offset: String(page * pageSize),
      limit: String(pageSize),
    })
    const reply = await api.call('GET', `${path}?${search}`)
    const data = asObjects(reply.data)
    records.push(...data)
    if (data.length < pageSize) return records
  }
  throw new UsageError(`${path} has more than ${maxPages * pageSize} records.`)
}

/** The records of a list that is not divided into pages. */
export async function listAtOnce(api: ApiClient, path: string): Promise<JsonObject[]> {
  return asObjects((await api.call('GET', path)).data)
}

export async function readRecord(api: ApiClient, path: string): Promise<JsonObject> {
  return asObject((await api.call('GET', path)).data) ?? {}
}
