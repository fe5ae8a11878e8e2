import { findModel } from '../../catalog/lookup.ts'
import type { NativeSearch } from '../../catalog/provider.ts'
import type { NativeTool } from '../../formats/call/call.ts'
import { asObject, asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { findDefaultEngine } from '../web/access.ts'
import { findNativeSearch } from '../web/resolve-search.ts'
import type { ToolRequest } from './tool.ts'
import { convertModelTool } from './vendor-model-tools.ts'

/** A vendor's own tool that the gateway can run too. */
interface VendorTool {
  /** The server tool of the gateway. */
  type: string
  wireFormats: readonly string[]
  types: RegExp
  toParameters(entry: JsonObject): JsonObject
  /** Fields of the gateway that the vendor would reject. */
  ownFields: readonly string[]
}

const vendorTools: readonly VendorTool[] = [
  {
    type: 'service:web_search',
    wireFormats: ['chat', 'responses'],
    types: /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/,
    toParameters: ({ type: _type, filters, external_web_access: _access, ...entry }) => {
      const { allowed_domains, blocked_domains, excluded_domains } = asObject(filters) ?? {}
      return omitUndefined({
        ...entry,
        allowed_domains: allowed_domains ?? undefined,
        excluded_domains: excluded_domains ?? blocked_domains ?? undefined,
      })
    },
    ownFields: ['engine', 'max_results', 'max_uses', 'mode', 'x_search'],
  },
  {
    type: 'service:web_search',
    wireFormats: ['messages'],
    types: /^web_search_\d{8}$/,
    toParameters: ({ max_uses, allowed_domains, blocked_domains, user_location }) =>
      omitUndefined({
        max_uses: max_uses ?? undefined,
        allowed_domains: allowed_domains ?? undefined,
        excluded_domains: blocked_domains ?? undefined,
        user_location,
      }),
    ownFields: [],
  },
  {
    type: 'service:web_fetch',
    wireFormats: ['messages'],
    types: /^web_fetch_\d{8}$/,
    toParameters: ({ max_uses, allowed_domains, blocked_domains, max_content_tokens }) =>
      omitUndefined({
        max_uses: max_uses ?? undefined,
        allowed_domains: allowed_domains ?? undefined,
        blocked_domains: blocked_domains ?? undefined,
        max_content_tokens: max_content_tokens ?? undefined,
      }),
    ownFields: [],
  },
]

/**
 * A tool of a vendor as the tool of the gateway, where the providers of the model cannot run it and the gateway can.
 * Otherwise the tool itself, without the fields that only the gateway supports.
 */
export function convertVendorTool(tool: NativeTool, request: ToolRequest): NativeTool {
  const vendorTool = vendorTools.find(
    ({ wireFormats, types }) => wireFormats.includes(tool.wireFormat) && types.test(tool.type),
  )
  if (!vendorTool) return convertModelTool(tool, request)
  const model = findModel(request.gateway.catalog, request.model)?.model
  const native = findNativeSearch([model])
  const engine = asString(tool.value.engine)
  const isEngineNamed = engine !== undefined && engine !== 'native' && engine !== 'auto'
  if (!isEngineNamed && runsAsIs(native, tool)) return withoutFields(tool, vendorTool.ownFields)
  if (!isEngineNamed && !canRun(vendorTool, native, request)) return withoutFields(tool, vendorTool.ownFields)
  const value = { type: tool.type, parameters: vendorTool.toParameters(tool.value) }
  return { ...tool, type: vendorTool.type, value }
}

/** A provider that searches in the format of the tool reads pages in it too. */
function runsAsIs(native: NativeSearch | null, { wireFormat }: NativeTool): boolean {
  return native !== null && native.wireFormat === wireFormat
}

function canRun({ type }: VendorTool, native: NativeSearch | null, request: ToolRequest): boolean {
  const { gateway, keyContext, region } = request
  if (keyContext.disabledServerTools.includes(type)) return false
  if (type === 'service:web_fetch') return region === 'global' && gateway.settings.web.fetch.enabled
  if (native) return true
  return region === 'global' && findDefaultEngine(gateway, keyContext.byokKeys, null) !== undefined
}

function withoutFields(tool: NativeTool, names: readonly string[]): NativeTool {
  if (!names.some((name) => name in tool.value)) return tool
  const entries = Object.entries(tool.value).filter(([name]) => !names.includes(name))
  return { ...tool, value: Object.fromEntries(entries) }
}
