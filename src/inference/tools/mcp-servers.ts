import type { NativeTool, Tool } from '../../formats/call/call.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import {
  asObject,
  asObjects,
  isBlank,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { ToolFormat, ToolRequest } from './tool.ts'

const toolType = 'service:mcp'
const maxServers = 20

/**
 * The tools of a request with its MCP servers as tools of the gateway, where the providers of its model do not connect
 * to them: entries of type `mcp` in the Responses and Chat formats, `mcp_servers` in the Messages format. What belongs
 * to another format is rejected, because a provider would be sent its secrets.
 */
export function convertMcpServers(
  tools: readonly Tool[],
  body: JsonObject,
  request: ToolRequest,
  listCandidates: () => readonly Candidate[],
): Tool[] {
  const isMessages = request.format === 'messages'
  rejectForeignServers(tools, body, request.format)
  const servers = isMessages ? asObjects(body.mcp_servers) : []
  if (servers.length === 0 && !tools.some(isMcpEntry)) return [...tools]
  if (isRunByProviders(request, listCandidates)) return [...tools]
  const converted = tools.map((tool, index) =>
    isMcpEntry(tool) ? convertEntry(tool, `tools[${index}]`, request.format, listCandidates) : tool,
  )
  const all = isMessages
    ? [...converted.filter((tool) => !isToolset(tool)), ...convertServers(servers, tools)]
    : converted
  if (all.filter((tool) => tool.kind === 'native' && tool.type === toolType).length > maxServers)
    throw invalidFieldError(
      isMessages ? 'mcp_servers' : 'tools',
      `must have at most ${maxServers} MCP servers`,
    )
  return all
}

/**
 * Whether every endpoint that may serve the request connects to the servers itself. The guardrails see the results of
 * tools only if the gateway runs them.
 */
function isRunByProviders(
  { format, keyContext }: ToolRequest,
  listCandidates: () => readonly Candidate[],
): boolean {
  if (keyContext.contentRules) return false
  const candidates = listCandidates()
  return (
    candidates.length > 0 && candidates.every(({ endpoint }) => endpoint.provider.connectsToMcp === format)
  )
}

function isMcpEntry(tool: Tool): tool is NativeTool {
  return (
    tool.kind === 'native' &&
    (tool.wireFormat === 'responses' || tool.wireFormat === 'chat') &&
    tool.type === 'mcp'
  )
}

/** A connector of a vendor has no address: only that vendor can use it. */
function convertEntry(
  tool: NativeTool,
  at: string,
  format: ToolFormat,
  listCandidates: () => readonly Candidate[],
): NativeTool {
  const { type, connector_id, ...parameters } = tool.value
  if (connector_id === undefined) return { ...tool, type: toolType, value: { type, parameters } }
  if (!listCandidates().some(({ endpoint }) => endpoint.provider.connectsToMcp === format))
    throw invalidFieldError(
      `${at}.connector_id`,
      'is not available: no provider of this model has connectors in this format. Use server_url',
    )
  return tool
}

function rejectForeignServers(tools: readonly Tool[], body: JsonObject, format: ToolFormat): void {
  if (format !== 'messages' && !isBlank(body.mcp_servers))
    throw invalidFieldError(
      'mcp_servers',
      'is a field of the Messages format. Use tools of type "mcp" in Chat and Responses',
    )
  const index = tools.findIndex((tool) => tool.kind === 'native' && tool.type === 'mcp' && !isMcpEntry(tool))
  if (index >= 0)
    throw invalidFieldError(
      `tools[${index}].type`,
      '"mcp" is not available in this format. Use mcp_servers in Messages',
    )
}

function isToolset(tool: Tool): tool is NativeTool {
  return tool.kind === 'native' && tool.wireFormat === 'messages' && tool.type === 'mcp_toolset'
}

/** Converts servers to tools. If there are toolsets, only the servers that they name are used. */
function convertServers(servers: readonly JsonObject[], tools: readonly Tool[]): NativeTool[] {
  const toolsets = tools.filter(isToolset).map(({ value }) => value)
  return servers.flatMap((server, index) => {
    const toolset = toolsets.find(({ mcp_server_name }) => mcp_server_name === server.name)
    if (toolsets.length > 0 && !toolset) return []
    const configuration = asObject(server.tool_configuration)
    if (configuration?.enabled === false) return []
    if (server.type !== 'url') throw invalidFieldError(`mcp_servers[${index}].type`, 'must be "url"')
    const parameters = omitUndefined({
      server_label: server.name,
      server_url: server.url,
      authorization: server.authorization_token ?? undefined,
      ...(toolset ? describeToolset(toolset) : { allowed_tools: configuration?.allowed_tools ?? undefined }),
    })
    const value = { type: 'mcp', parameters, field: `mcp_servers[${index}]` }
    return [{ kind: 'native', wireFormat: 'messages', type: toolType, value }]
  })
}

function describeToolset({ default_config, configs }: JsonObject): JsonObject {
  const entries = Object.entries(asObject(configs) ?? {})
  const listByState = (isEnabled: boolean) =>
    entries.flatMap(([tool, config]) => (asObject(config)?.enabled === isEnabled ? [tool] : []))
  const isEnabledByDefault = asObject(default_config)?.enabled !== false
  return isEnabledByDefault ? { excluded_tools: listByState(false) } : { allowed_tools: listByState(true) }
}
