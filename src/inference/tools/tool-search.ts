import { z } from 'zod'
import { type FunctionTool, flattenToolName, type ModelCall, type Tool } from '../../formats/call/call.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asObjects, asString } from '../../platform/json/json-values.ts'
import { compilePattern, type Pattern, PatternError } from '../../platform/text/pattern.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { parseArguments } from './arguments.ts'
import { failedOutcome } from './failure.ts'
import { listEarlierCalls } from './instances.ts'
import { defineServerTool, type ToolInstance, type ToolOutcome, type ToolSetup } from './tool.ts'

const name = 'tool_search'
const maxPatternLength = 200

/** Finds tools with `defer_loading`, which the model is not offered until they were found. */
export const toolSearch = defineServerTool({
  name,
  formats: ['messages', 'responses'],
  parameters: z.strictObject({ max_results: z.int().min(1).max(50).default(5) }),
  create: ({ max_results }, setup) => {
    checkSetup(setup)
    return new ToolSearch(setup.call, max_results).toInstance()
  },
})

function checkSetup({ call, entry, at }: ToolSetup): void {
  if (entry.defer_loading === true)
    throw invalidFieldError(`${at}.defer_loading`, 'the search cannot be deferred itself')
  const choice = call.toolChoice?.kind ?? 'auto'
  if (choice !== 'auto' && choice !== 'allowed')
    throw invalidFieldError('tool_choice', 'must be auto or allowed_tools in a request with tool_search')
}

class ToolSearch {
  readonly #maxResults: number
  readonly #deferred: readonly FunctionTool[]
  /** Flat names. */
  readonly #found: Set<string>

  constructor(call: ModelCall, maxResults: number) {
    this.#maxResults = maxResults
    this.#deferred = (call.tools ?? []).filter(
      (tool): tool is FunctionTool => tool.kind === 'function' && tool.deferLoading === true,
    )
    this.#found = new Set(listUsedTools(call))
  }

  toInstance(): ToolInstance {
    return {
      functions: [
        {
          kind: 'function',
          name,
          description:
            `Find more tools: ${this.#deferred.length} are not shown. The pattern is a regular expression, matched ` +
            'without regard to case against names, descriptions and arguments. Tools that are found can be called next.',
          schema: {
            type: 'object',
            properties: { query: { type: 'string', description: 'Such as "weather|forecast".' } },
            required: ['query'],
          },
        },
      ],
      describe: ({ arguments: text }) => ({
        item: { type: `service:${name}`, query: asString(parseArguments(text).query) ?? '' },
      }),
      selectTools: (tools) => this.#select(tools),
      run: (_call, { input }) => this.#run(asString(input.query) ?? ''),
    }
  }

  #select(tools: readonly Tool[]): Tool[] {
    return tools.flatMap((tool): Tool[] => {
      if (tool.kind !== 'function' || !tool.deferLoading) return [tool]
      const { deferLoading: _, ...loaded } = tool
      return this.#found.has(flattenToolName(tool)) ? [loaded] : []
    })
  }

  async #run(query: string): Promise<ToolOutcome> {
    const pattern = compileQuery(query)
    if (typeof pattern === 'string') return failed(query, pattern)
    const tools = await this.#find(pattern)
    for (const tool of tools) this.#found.add(flattenToolName(tool))
    const names = tools.map((tool) => ({ name: flattenToolName(tool), description: tool.description ?? '' }))
    return {
      content: [{ kind: 'text', text: JSON.stringify({ tools: names }) }],
      item: { query, status: 'completed' },
      block: {
        type: 'tool_search_tool_result',
        content: {
          type: 'tool_search_tool_search_result',
          tool_references: names.map((tool) => ({ type: 'tool_reference', tool_name: tool.name })),
        },
      },
    }
  }

  async #find(pattern: Pattern): Promise<FunctionTool[]> {
    const found: FunctionTool[] = []
    let characters = 0
    for (const tool of this.#deferred) {
      const text = describeTool(tool)
      characters += text.length
      if (characters > sliceCharacters) {
        characters = 0
        await yieldToEventLoop()
      }
      if (pattern.test(text)) found.push(tool)
      if (found.length === this.#maxResults) break
    }
    return found
  }
}

/** Characters of a tool that are searched; the rest of a longer description is not. */
const maxToolCharacters = 4000
/** Characters searched before the event loop is yielded: a few milliseconds. */
const sliceCharacters = 16 * 1024

/** Name, description and the names and descriptions of the arguments, in lines. */
function describeTool(tool: FunctionTool): string {
  const properties = Object.entries(asObject(tool.schema?.properties) ?? {})
  const texts = properties.map(([key, value]) => `${key} ${asString(asObject(value)?.description) ?? ''}`)
  return [flattenToolName(tool), tool.description ?? '', ...texts].join('\n').slice(0, maxToolCharacters)
}

/** The pattern, or the reason why it is invalid. */
function compileQuery(query: string): Pattern | string {
  if (query === '' || query.length > maxPatternLength)
    return `query: must have 1 to ${maxPatternLength} characters`
  try {
    return compilePattern(`(?i)${query}`)
  } catch (error) {
    if (error instanceof PatternError) return `query: is not a valid regular expression: ${error.message}`
    throw error
  }
}

function failed(query: string, message: string): ToolOutcome {
  return {
    ...failedOutcome(message, { query }),
    block: {
      type: 'tool_search_tool_result',
      content: {
        type: 'tool_search_tool_result_error',
        error_code: 'invalid_tool_input',
        error_message: message,
      },
    },
  }
}

/** Tools that were called or found earlier in the conversation. */
function listUsedTools(call: ModelCall): string[] {
  const called = call.messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === 'tool-call' ? part.name : [])),
  )
  return [...called, ...listEarlierCalls(call, name).flatMap(({ result }) => readNames(result))]
}

/** The names in a result of an earlier search. */
function readNames(result: string): string[] {
  return asObjects(parseArguments(result).tools).flatMap((tool) => asString(tool.name) ?? [])
}
