import { asObject, type JsonObject } from '../platform/json/json-values.ts'

/** The fields of a body without the secrets of its MCP servers, for logs and for replies that echo the request. */
export function maskMcpSecrets(body: JsonObject): JsonObject {
  const tools = maskEntries(body.tools, maskTool)
  const servers = maskEntries(body.mcp_servers, (server) => omit(server, ['authorization_token']))
  return { ...(tools && { tools }), ...(servers && { mcp_servers: servers }) }
}

const toolSecrets = ['authorization', 'headers']

function maskTool(tool: JsonObject): JsonObject {
  if (tool.type === 'mcp') return omit(tool, toolSecrets)
  const parameters = tool.type === 'service:mcp' ? asObject(tool.parameters) : undefined
  const masked = parameters && omit(parameters, toolSecrets)
  return masked === parameters ? tool : { ...tool, parameters: masked }
}

function omit(entry: JsonObject, names: readonly string[]): JsonObject {
  if (!names.some((name) => entry[name] != null)) return entry
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !names.includes(name)))
}

/** Null if there is nothing to mask. */
function maskEntries(value: unknown, mask: (entry: JsonObject) => JsonObject): unknown[] | null {
  if (!Array.isArray(value)) return null
  const masked = value.map((item) => {
    const entry = asObject(item)
    return entry ? mask(entry) : item
  })
  return masked.some((item, index) => item !== value[index]) ? masked : null
}
