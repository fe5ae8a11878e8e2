import { z } from 'zod'
import type { FunctionTool } from '../../formats/call/call.ts'
import type { ImagePart, OutputPart, TextPart, ToolCallPart } from '../../formats/call/part.ts'
import { LinkedAbortController } from '../../platform/concurrency/linked-abort-controller.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'
import { type GatewayError, gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { describeServer } from '../../platform/tracing/server-attributes.ts'
import { nameError, type OpenSpan, type SpanAttributes } from '../../platform/tracing/span-recorder.ts'
import {
  McpConnection,
  type McpContent,
  McpError,
  type McpFailureReason,
  type McpTool,
} from '../mcp/connection.ts'
import type { McpEgress } from '../mcp/guarded-fetch.ts'
import { defineServerTool, type ToolOutcome, type ToolRequest, type ToolRun } from './tool.ts'

const name = 'mcp'
const toolNames = z.object({ tool_names: z.array(z.string()).max(500).optional() })

/** Headers that the connection sets itself. */
const reservedHeaders = /^(?:host|content-length|transfer-encoding|connection|upgrade|te|trailer)$/i

const headers = z
  .record(
    z.string().regex(/^[!#$%&'*+.^_`|~\w-]{1,100}$/),
    z
      .string()
      .max(8192)
      .regex(/^[\t\x20-\x7e\x80-\xff]*$/),
  )
  .refine((map) => !Object.keys(map).some((header) => reservedHeaders.test(header)), {
    message: 'must not contain headers of the connection, such as Host',
  })

const parameters = z.looseObject({
  server_label: z.string().regex(/^[\w-]{1,64}$/, 'must have 1 to 64 letters, digits, _ or -'),
  server_url: z.url({ protocol: /^https?$/ }).max(2048),
  server_description: z.string().max(4000).nullish(),
  authorization: z.string().max(16_384).nullish(),
  headers: headers.nullish(),
  allowed_tools: z
    .union([z.array(z.string()).max(500), toolNames.extend({ read_only: z.boolean().optional() })])
    .nullish(),
  excluded_tools: z.array(z.string()).max(500).optional(),
  require_approval: z
    .union([
      z.enum(['always', 'never']),
      z.object({ always: toolNames.optional(), never: toolNames.optional() }),
    ])
    .nullish(),
})

type Parameters = z.output<typeof parameters>

/** Tools of a remote MCP server. */
export const mcp = defineServerTool({
  name,
  formats: ['responses', 'messages', 'chat'],
  isGlobal: true,
  connectsFirst: true,
  parameters,
  create: async (settings: Parameters, setup) => {
    if (setup.format === 'chat' && settings.require_approval !== 'never')
      throw invalidFieldError(
        `${setup.at}.require_approval`,
        'must be "never": this format has no approvals. Use /responses to approve calls',
      )
    const server = new RemoteServer(settings, setup)
    const tools = await server.listTools(setup.at)
    const byFunction = nameFunctions(settings.server_label, tools)
    const functionOf = new Map([...byFunction].map(([id, tool]) => [tool.name, id]))
    const toolOf = ({ name: called }: ToolCallPart) => byFunction.get(called)?.name ?? called
    const describeCall = (call: ToolCallPart) => ({
      type: 'mcp_call',
      server_label: settings.server_label,
      name: toolOf(call),
      arguments: call.arguments,
    })
    return {
      functions: [...byFunction].map(([id, tool]) => toFunction(id, tool)),
      opening: setup.format === 'responses' ? [describeTools(settings.server_label, tools)] : [],
      describe: (call) => ({
        item: { ...describeCall(call), output: null, error: null, ...describeApproval(call) },
        use: { type: 'mcp_tool_use', server_name: settings.server_label, name: toolOf(call) },
        progress: {
          start: ['mcp_call.in_progress'],
          completed: 'mcp_call.completed',
          failed: 'mcp_call.failed',
        },
      }),
      describeSpan: (call) => ({
        tool: toolOf(call),
        kind: 'client',
        attributes: describeMethod('tools/call', settings.server_url),
      }),
      needsClient: (call: ToolCallPart) => {
        const tool = byFunction.get(call.name)
        return tool !== undefined && needsApproval(settings.require_approval, tool, setup.format)
      },
      toClientCall: (call) => ({
        kind: 'opaque',
        wireFormat: 'responses',
        value: { ...describeCall(call), type: 'mcp_approval_request', id: `${approvalPrefix}${call.id}` },
      }),
      server: { label: settings.server_label, functionOf: (tool: string) => functionOf.get(tool) },
      run: (call, run) => runTool(server, toolOf(call), run),
      close: () => server.close(),
    }
  },
})

const approvalPrefix = 'mcpr_'

/** An approved call has the id of the request for its approval. */
function describeApproval({ id }: ToolCallPart): JsonObject {
  return id.startsWith(approvalPrefix) ? { approval_request_id: id } : {}
}

const maxFunctionName = 64

/** The tools by the names that the model is offered: vendors allow few characters. */
export function nameFunctions<T extends { name: string }>(
  label: string,
  tools: readonly T[],
): Map<string, T> {
  const named = new Map<string, T>()
  for (const tool of tools) {
    const plainName = `${label}__${tool.name}`.replaceAll(/[^\w-]/g, '_')
    const isFree = plainName.length <= maxFunctionName && !named.has(plainName)
    const hash = sha256(`${label} ${tool.name}`).slice(0, 8)
    named.set(isFree ? plainName : `${plainName.slice(0, maxFunctionName - 9)}_${hash}`, tool)
  }
  return named
}

function toFunction(id: string, { description, schema }: McpTool): FunctionTool {
  return { kind: 'function', name: id, description, schema }
}

function describeTools(label: string, tools: readonly McpTool[]): OutputPart {
  const listed = tools.map(({ name: tool, description, schema, isReadOnly }) => ({
    name: tool,
    description,
    input_schema: schema,
    annotations: { read_only: isReadOnly },
  }))
  const value = { type: 'mcp_list_tools', server_label: label, tools: listed, error: null }
  return { kind: 'opaque', wireFormat: 'responses', value }
}

/** Whether a call needs approval. Only the Responses format has approvals; by default every call there needs one. */
function needsApproval(
  rule: Parameters['require_approval'],
  { name: tool }: McpTool,
  format: ToolRequest['format'],
): boolean {
  if (format !== 'responses' || rule === 'never') return false
  if (typeof rule !== 'object' || rule === null) return true
  return rule.always?.tool_names?.includes(tool) === true || rule.never?.tool_names?.includes(tool) !== true
}

function isAllowed(
  { allowed_tools: rule, excluded_tools }: Parameters,
  { name: tool, isReadOnly }: McpTool,
): boolean {
  if (excluded_tools?.includes(tool)) return false
  if (!rule) return true
  if (Array.isArray(rule)) return rule.includes(tool)
  if (rule.read_only === true && !isReadOnly) return false
  return rule.tool_names === undefined || rule.tool_names.includes(tool)
}

const timeoutMs = 60_000
/** Time limit of listing the tools of a server. */
export const mcpTimes = { listMs: 15_000 }
/** Bytes of one response. */
const maxListBytes = 512 * 1024
const maxCallBytes = 4 * 1024 * 1024

const listErrorCodes = {
  timeout: 'upstream_timeout',
  unavailable: 'upstream_failed',
  rate_limited: 'upstream_rate_limited',
} as const

/** A server, to which the request has at most one session. */
class RemoteServer {
  readonly #settings: Parameters
  readonly #request: ToolRequest
  readonly #abort = new AbortController()
  #opening: Promise<McpConnection> | null = null

  constructor(settings: Parameters, request: ToolRequest) {
    this.#settings = settings
    this.#request = request
  }

  async listTools(at: string): Promise<McpTool[]> {
    const abort = new LinkedAbortController([this.#request.signal], mcpTimes.listMs)
    try {
      const tools = await this.#trace('tools/list', null, (span) => this.#list(abort.signal, span))
      return tools.filter((tool) => isAllowed(this.#settings, tool))
    } catch (error) {
      if (!(error instanceof McpError)) throw error
      throw this.#toListError(at, error, abort.isTimedOut ? 'timeout' : error.reason)
    } finally {
      abort.close()
    }
  }

  /** A server that fails is not the fault of the request, which may succeed later. */
  #toListError(at: string, { message }: McpError, reason: McpFailureReason): GatewayError {
    const problem = `the tools of the MCP server could not be listed: ${message}`
    if (reason === 'rejected') return invalidFieldError(at, problem)
    if (reason === 'credential') return invalidFieldError(this.#nameCredential(at), problem)
    return gatewayError(listErrorCodes[reason], `${at}: ${problem} Send the request again.`)
  }

  #nameCredential(at: string): string {
    const { authorization, headers: own } = this.#settings
    if (!authorization && own && Object.keys(own).length > 0) return `${at}.headers`
    return `${at}.${this.#request.format === 'messages' ? 'authorization_token' : 'authorization'}`
  }

  async #list(signal: AbortSignal, span: OpenSpan | null): Promise<McpTool[]> {
    const options = { signal, limitMs: mcpTimes.listMs, maxBytes: maxListBytes }
    const connection = await this.#open(options, span)
    try {
      return await connection.listTools(signal, this.#request.propagate(span?.spanId))
    } finally {
      void connection.close()
    }
  }

  async call(tool: string, { input, signal, span }: Pick<ToolRun, 'input' | 'signal' | 'span'>) {
    const options = { signal: this.#abort.signal, limitMs: timeoutMs, maxBytes: maxCallBytes }
    this.#opening ??= this.#open(options, span).catch((error: unknown) => {
      // The next call tries again.
      this.#opening = null
      throw error
    })
    const connection = await this.#opening
    return connection.call(tool, input, signal, this.#request.propagate(span?.spanId))
  }

  /** Closes the connection when the request ends. */
  close(): void {
    const connecting = this.#opening
    if (connecting) void connecting.then((connection) => connection.close()).catch(() => undefined)
    this.#abort.abort()
  }

  #open(
    { signal, limitMs, maxBytes }: { signal: AbortSignal; limitMs: number; maxBytes: number },
    parent: OpenSpan | null,
  ): Promise<McpConnection> {
    const { server_label: label, server_url: url, authorization, headers: own } = this.#settings
    const token = authorization ? { authorization: `Bearer ${authorization}` } : {}
    const { egress, limits } = this.#request.gateway.settings
    const options: McpEgress = {
      allowPrivate: egress.allow_private,
      connectMs: limits.connect,
      maxBytes,
      signal,
    }
    const server = { label, url, headers: { ...own, ...token } }
    return this.#trace('initialize', parent, () => McpConnection.open(server, options, limitMs))
  }

  /** Runs a request of the protocol in a span. */
  async #trace<T>(
    method: 'initialize' | 'tools/list',
    parent: OpenSpan | null,
    run: (span: OpenSpan | null) => Promise<T>,
  ): Promise<T> {
    const attributes = describeMethod(method, this.#settings.server_url)
    const options = { kind: 'client' as const, attributes, ...(parent && { parent }) }
    const span = this.#request.spans?.begin(method, options) ?? null
    try {
      const result = await run(span)
      span?.end()
      return result
    } catch (error) {
      span?.end(error instanceof McpError ? error.reason : nameError(error))
      throw error
    }
  }
}

/** The attributes of a request by the MCP conventions. */
function describeMethod(method: string, url: string): SpanAttributes {
  return { 'mcp.method.name': method, ...describeServer(url) }
}

async function runTool(server: RemoteServer, tool: string, run: ToolRun): Promise<ToolOutcome> {
  try {
    const { content, isError } = await server.call(tool, run)
    const parts = content.map(toPart)
    const text = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n')
    return {
      content: parts,
      ...(isError && { isError }),
      item: {
        output: isError ? null : text,
        error: isError ? { type: 'mcp_tool_execution_error', content: [{ type: 'text', text }] } : null,
      },
      block: buildBlock(text, isError),
    }
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    return describeFailure(error)
  }
}

function toPart(content: McpContent): TextPart | ImagePart {
  if (content.kind === 'text') return content
  return { kind: 'image', source: { kind: 'data', mediaType: content.mediaType, data: content.data } }
}

function describeFailure({ kind, code, message, reason }: McpError): ToolOutcome {
  return {
    content: [{ kind: 'text', text: message }],
    isError: true,
    errorType: reason,
    item: { output: null, error: { type: kind, code, message } },
    block: buildBlock(message, true),
  }
}

function buildBlock(text: string, isError: boolean): JsonObject {
  return { type: 'mcp_tool_result', is_error: isError, content: [{ type: 'text', text, citations: null }] }
}
