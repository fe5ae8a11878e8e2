import type { Client } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { EgressError, type EgressErrorKind } from '../../platform/http/egress-client.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { runInSlices } from '../../platform/time/time-slicer.ts'
import { createGuardedFetch, type McpEgress } from './guarded-fetch.ts'

/** A remote server of the Model Context Protocol. */
export interface McpServer {
  label: string
  url: string
  /** May contain secrets. */
  headers: Record<string, string>
}

export interface McpTool {
  name: string
  description: string
  schema: JsonObject
  isReadOnly: boolean
}

export type McpContent = { kind: 'text'; text: string } | { kind: 'image'; mediaType: string; data: string }

export interface McpResult {
  content: McpContent[]
  isError: boolean
}

/** The headers of W3C Trace Context. */
type TraceHeaders = Readonly<Record<string, string>> | undefined

/** The conventions of OpenTelemetry continue a trace in the metadata of the request. */
function describeTrace(trace: TraceHeaders) {
  return trace && { _meta: { ...trace } }
}

/** A failure that is safe to show: it has nothing of the server's address or headers. */
export class McpError extends Error {
  readonly kind: 'mcp_protocol_error' | 'http_error'
  readonly code: number
  readonly reason: McpFailureReason

  constructor(kind: McpError['kind'], code: number, message: string, reason: McpFailureReason = 'rejected') {
    super(message)
    this.kind = kind
    this.code = code
    this.reason = reason
  }
}

/** `credential`: the server did not accept the caller. `rejected`: a retry does not help either. */
export type McpFailureReason = 'timeout' | 'unavailable' | 'rate_limited' | 'credential' | 'rejected'

const maxTools = 200
const maxPages = 20
const maxDescriptionLength = 8000
const maxSchemaLength = 64 * 1024
const maxMessageLength = 500
/** Parts of one result. */
const maxContentParts = 1000
const clientInfo = { name: 'headgate', version: '1' }

/** Loads the client with the first server: it is a tenth of the memory of an idle gateway. */
const loadClient = () => import('@modelcontextprotocol/client')

/** A session with a server, for the duration of one request. */
export class McpConnection {
  readonly #client: Client
  readonly #timeoutMs: number
  readonly #excess: Excess

  private constructor(client: Client, timeoutMs: number, excess: Excess) {
    this.#client = client
    this.#timeoutMs = timeoutMs
    this.#excess = excess
  }

  static async open(server: McpServer, egress: McpEgress, timeoutMs: number): Promise<McpConnection> {
    const url = URL.parse(server.url)
    if (!url) throw new McpError('http_error', 400, 'The URL of the server is not valid.')
    const { Client, StreamableHTTPClientTransport } = await loadClient()
    const client = new Client(clientInfo, { capabilities: {} })
    const excess = new Excess()
    const transport = new StreamableHTTPClientTransport(url, {
      fetch: createGuardedFetch(egress, (error) => excess.report(error)),
      requestInit: { headers: server.headers },
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 1000,
        maxReconnectionDelay: 1000,
        reconnectionDelayGrowFactor: 1,
      },
    })
    // Errors of requests are thrown by them; the others concern a stream that is not needed.
    transport.onerror = () => undefined
    const options = { timeout: timeoutMs, signal: egress.signal }
    await run(() => excess.race(client.connect(transport, options)))
    return new McpConnection(client, timeoutMs, excess)
  }

  async listTools(signal: AbortSignal, trace?: TraceHeaders): Promise<McpTool[]> {
    const tools: McpTool[] = []
    let cursor: string | undefined
    for (let page = 0; page < maxPages && tools.length < maxTools; page++) {
      const options = { timeout: this.#timeoutMs, signal }
      const params = { ...(cursor !== undefined && { cursor }), ...describeTrace(trace) }
      // `listTools` would read all pages.
      const listed = await run(() =>
        this.#excess.race(this.#client.request({ method: 'tools/list', params }, toolPage, options)),
      )
      await runInSlices(readTools(listed.tools, tools))
      cursor = listed.nextCursor
      if (cursor === undefined) break
    }
    return tools
  }

  async call(name: string, input: JsonObject, signal: AbortSignal, trace?: TraceHeaders): Promise<McpResult> {
    const options = { timeout: this.#timeoutMs, signal }
    const result = await run(() =>
      this.#excess.race(this.#client.callTool({ name, arguments: input, ...describeTrace(trace) }, options)),
    )
    const parts = Array.isArray(result.content) ? result.content : []
    if (parts.length > maxContentParts)
      throw new McpError('mcp_protocol_error', -32000, `The result has more than ${maxContentParts} parts.`)
    const content = parts.flatMap(readContent)
    const structured = content.length === 0 ? asObject(result.structuredContent) : undefined
    return {
      content: structured ? [{ kind: 'text', text: JSON.stringify(structured) }] : content,
      isError: result.isError === true,
    }
  }

  /** Ends the session, without waiting for the server. */
  async close(): Promise<void> {
    await this.#client.close().catch(() => undefined)
  }
}

/** A response beyond its bounds ends all calls: the client would wait for their timeout. */
class Excess {
  readonly #reported = Promise.withResolvers<never>()

  constructor() {
    // Not an error until a call waits for it.
    this.#reported.promise.catch(() => undefined)
  }

  report(error: EgressError): void {
    this.#reported.reject(error)
  }

  race<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#reported.promise])
  }
}

/** A page of tools, which `readTool` validates one at a time. */
const toolPage = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })

/** Adds to `tools`; each step is one of them. */
function* readTools(listed: readonly unknown[], tools: McpTool[]): Generator<void> {
  for (const tool of listed) {
    if (tools.length >= maxTools) return
    tools.push(...readTool(tool))
    yield
  }
}

function readTool(value: unknown): McpTool[] {
  const tool = asObject(value) ?? {}
  const name = asString(tool.name)
  const schema = asObject(tool.inputSchema) ?? { type: 'object', properties: {} }
  if (!name || JSON.stringify(schema).length > maxSchemaLength) return []
  return [
    {
      name,
      description: (asString(tool.description) ?? '').slice(0, maxDescriptionLength),
      schema,
      isReadOnly: asObject(tool.annotations)?.readOnlyHint === true,
    },
  ]
}

function readContent(value: unknown): McpContent[] {
  const part = asObject(value) ?? {}
  const text = asString(part.text)
  if (part.type === 'text' && text !== undefined) return [{ kind: 'text', text }]
  const [data, mediaType] = [asString(part.data), asString(part.mimeType)]
  if (part.type === 'image' && data !== undefined && mediaType) return [{ kind: 'image', mediaType, data }]
  const resource = asObject(part.resource)
  const resourceText = asString(resource?.text)
  if (resourceText !== undefined) return [{ kind: 'text', text: resourceText }]
  const uri = asString(part.uri) ?? asString(resource?.uri)
  return uri === undefined ? [] : [{ kind: 'text', text: uri }]
}

async function run<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toMcpError(error)
  }
}

/** The client wraps errors of `fetch`; the cause is what happened. */
function toMcpError(error: unknown): McpError {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if (cause instanceof EgressError)
      return new McpError('http_error', 502, cause.message, egressReasons[cause.kind])
    const code = 'code' in cause && typeof cause.code === 'number' ? cause.code : undefined
    const status = 'status' in cause && typeof cause.status === 'number' ? cause.status : undefined
    if (status !== undefined)
      return new McpError(
        'http_error',
        status,
        `The server responded with status ${status}.`,
        reasonForStatus(status),
      )
    if (isTimeoutError(cause))
      return new McpError('mcp_protocol_error', code ?? -32001, clip(cause.message), 'timeout')
    if (code !== undefined) {
      const reason = code === internalErrorCode ? 'unavailable' : 'rejected'
      return new McpError('mcp_protocol_error', code, clip(cause.message), reason)
    }
  }
  return new McpError('mcp_protocol_error', -32000, 'The server could not be used.', 'unavailable')
}

/** The code of internal errors in JSON-RPC. */
const internalErrorCode = -32603

const egressReasons: Partial<Record<EgressErrorKind, McpFailureReason>> = {
  timeout: 'timeout',
  unresolved: 'unavailable',
  unreachable: 'unavailable',
}

function reasonForStatus(status: number): McpFailureReason {
  if (status === 401 || status === 403) return 'credential'
  if (status === 408 || status === 504) return 'timeout'
  if (status === 429) return 'rate_limited'
  return status >= 500 ? 'unavailable' : 'rejected'
}

/** The client has a code of its own for a request without a response, and passes the reason of its signal on. */
function isTimeoutError(error: Error): boolean {
  const code = 'code' in error ? error.code : undefined
  return code === 'REQUEST_TIMEOUT' || error.name === 'TimeoutError'
}

function clip(message: string): string {
  return message.slice(0, maxMessageLength)
}
