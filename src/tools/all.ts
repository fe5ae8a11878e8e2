import { serverToolPrefix } from '../call/call.ts'
import { datetime } from './datetime.ts'
import { mcp } from './mcp.ts'
import type { ServerTool } from './tool.ts'
import { webFetch } from './web-fetch.ts'
import { webSearch } from './web-search.ts'

/** The tools that the gateway can run. */
export const serverTools: readonly ServerTool[] = [datetime, mcp, webFetch, webSearch]

const byType = new Map(serverTools.map((tool) => [`${serverToolPrefix}${tool.name}`, tool]))

/** By the `type` of its entries in `tools`. */
export function findServerTool(type: string): ServerTool | undefined {
  return byType.get(type)
}

export const serverToolTypes: readonly string[] = [...byType.keys()].sort()
