import { type CustomTool, type FunctionTool, flattenToolName, type Tool } from './call.ts'

/** Fewer are found as fast without an index. */
const minIndexed = 32

const indexes = new WeakMap<readonly Tool[], Map<string, FunctionTool | CustomTool>>()

/** The tool that a client declared, by its flat name: the first of several. */
export function findTool(
  tools: readonly Tool[] | undefined,
  flatName: string,
): FunctionTool | CustomTool | undefined {
  if (!tools || tools.length >= minIndexed) return tools && indexOf(tools).get(flatName)
  return tools.find(
    (tool): tool is FunctionTool | CustomTool => tool.kind !== 'native' && flattenToolName(tool) === flatName,
  )
}

/** A request may have thousands of tools, and name each of them in its choice and its history. */
function indexOf(tools: readonly Tool[]): Map<string, FunctionTool | CustomTool> {
  const known = indexes.get(tools)
  if (known) return known
  const index = new Map<string, FunctionTool | CustomTool>()
  for (const tool of tools) {
    if (tool.kind === 'native') continue
    const name = flattenToolName(tool)
    if (!index.has(name)) index.set(name, tool)
  }
  indexes.set(tools, index)
  return index
}
