import { serverToolPrefix } from '../../formats/call/call.ts'
import { advisor } from './advisor.ts'
import { applyPatch } from './apply-patch.ts'
import { bash } from './bash.ts'
import { datetime } from './datetime.ts'
import { files } from './files.ts'
import { fusion } from './fusion.ts'
import { imageGeneration } from './image-generation.ts'
import { mcp } from './mcp.ts'
import { searchModels } from './search-models.ts'
import { shell } from './shell.ts'
import { subagent } from './subagent.ts'
import type { ServerTool } from './tool.ts'
import { toolSearch } from './tool-search.ts'
import { webFetch } from './web-fetch.ts'
import { webSearch } from './web-search.ts'

/** The tools that the gateway can run. */
export const serverTools: readonly ServerTool[] = [
  advisor,
  applyPatch,
  bash,
  datetime,
  files,
  fusion,
  imageGeneration,
  mcp,
  searchModels,
  shell,
  subagent,
  toolSearch,
  webFetch,
  webSearch,
]

const byType = new Map(serverTools.map((tool) => [`${serverToolPrefix}${tool.name}`, tool]))

/** Finds a tool by the `type` of its entries in `tools`. */
export function findServerTool(type: string): ServerTool | undefined {
  return byType.get(type)
}

export const serverToolTypes: readonly string[] = [...byType.keys()].sort()
