import { asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { PromptBlock, PromptCacheCodec } from '../wire-format.ts'
import { encodeCacheControl, maxCacheBreakpoints } from './cache-control.ts'

/** A longer prompt is left as it is. */
const maxBlocks = 1500

/** Blocks that the vendor lets a breakpoint follow. Thinking is cached with what comes after it. */
const markableTypes: ReadonlySet<unknown> = new Set([
  'text',
  'image',
  'document',
  'search_result',
  'tool_use',
  'tool_result',
])

interface LocatedBlock extends PromptBlock {
  value: JsonObject
}

/** Breakpoints in the order in which the vendor caches: tools, system, messages. */
export const promptCache: PromptCacheCodec = {
  maxBreakpoints: maxCacheBreakpoints,
  listBlocks(body) {
    const blocks = body.cache_control ? null : listBlocks(body)
    if (!blocks || blocks.length > maxBlocks || blocks.some(({ value }) => hasMark(value))) return null
    return blocks
  },
  addBreakpoints(body, blocks) {
    const marked = { ...body }
    for (const { path } of blocks) {
      const [section, at, within] = path
      marked[section] = markEntry(marked[section], at, within)
    }
    return marked
  },
}

function listBlocks({ tools, system, messages, tool_choice, thinking }: JsonObject): LocatedBlock[] {
  const ofTools = asList(tools).map((tool, at): LocatedBlock => {
    const canMark = tool.defer_loading !== true
    return { path: ['tools', at, null], value: tool, head: '', canMark }
  })
  const ofSystem = toBlocks(system).map(
    (block, at): LocatedBlock => ({
      path: ['system', at, null],
      value: block,
      head: 'system',
      canMark: canMark(block),
    }),
  )
  // The vendor forgets the messages, but not what is before them, when one of these changes.
  const options = JSON.stringify([tool_choice, thinking])
  const ofMessages = asList(messages).flatMap(({ role, content }, at) =>
    toBlocks(content).map(
      (block, within): LocatedBlock => ({
        path: ['messages', at, within],
        value: block,
        head: within > 0 ? '' : `${String(role)}${at === 0 ? options : ''}`,
        canMark: canMark(block),
      }),
    ),
  )
  return [...ofTools, ...ofSystem, ...ofMessages]
}

function canMark({ type, text }: JsonObject): boolean {
  return markableTypes.has(type) && (type !== 'text' || asString(text)?.trim() !== '')
}

/** Also in the parts of the result of a tool. */
function hasMark({ cache_control, content }: JsonObject): boolean {
  return cache_control != null || (Array.isArray(content) && asList(content).some(hasMark))
}

function markEntry(value: unknown, at: number, within: number | null): unknown {
  const entries = within === null ? toBlocks(value) : asList(value)
  return entries.map((entry, index) => {
    if (index !== at) return entry
    if (within !== null) return { ...entry, content: markEntry(entry.content, within, null) }
    return { ...entry, ...encodeCacheControl({}) }
  })
}

/** A text is one block. */
function toBlocks(value: unknown): JsonObject[] {
  return typeof value === 'string' ? [{ type: 'text', text: value }] : asList(value)
}

/** Empty unless every entry is an object: what the vendor would reject is left as it is. */
function asList(value: unknown): JsonObject[] {
  const entries = asObjects(value)
  return Array.isArray(value) && entries.length === value.length ? entries : []
}
