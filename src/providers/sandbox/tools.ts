import { type Call, type CustomTool, type FunctionTool, flatToolName, type Tool } from '../../call/call.ts'
import type { Prompt } from './prompt.ts'
import { sampleOf } from './sample.ts'

type Callable = FunctionTool | CustomTool

export interface PlannedCall {
  name: string
  arguments: string
  custom: boolean
}

/** The calls the sandbox makes instead of answering; none when it answers. */
export function plannedCalls(call: Call, prompt: Prompt): PlannedCall[] {
  const chosen = chosenTools(call, prompt)
  return (call.parallelToolCalls === false ? chosen.slice(0, 1) : chosen).map((tool) => ({
    name: flatToolName(tool),
    arguments: argumentsOf(tool, prompt.text),
    custom: tool.kind === 'custom',
  }))
}

/** The tool that the call insists on and does not have. */
export function missingTool({ tools = [], toolChoice }: Call): string | undefined {
  if (toolChoice?.kind !== 'tool') return undefined
  const has = tools.some((tool) => isCallable(tool) && isCalled(tool, toolChoice.name))
  return has ? undefined : toolChoice.name
}

function chosenTools({ tools = [], toolChoice }: Call, prompt: Prompt): Callable[] {
  const callable = tools.filter(isCallable)
  switch (toolChoice?.kind) {
    case 'none':
      return []
    case 'tool':
      return callable.filter((tool) => isCalled(tool, toolChoice.name)).slice(0, 1)
    case 'required':
      return insisted(callable, prompt)
    case 'allowed': {
      const allowed = callable.filter((tool) => toolChoice.names.some((name) => isCalled(tool, name)))
      return toolChoice.required ? insisted(allowed, prompt) : wanted(allowed, prompt)
    }
    default:
      return wanted(callable, prompt)
  }
}

/** One call at least, whatever the message says. */
function insisted(tools: Callable[], prompt: Prompt): Callable[] {
  const named = mentioned(tools, prompt.text)
  return named.length > 0 ? named : tools.slice(0, 1)
}

/** The tools that the message names, until they were called often enough. */
function wanted(tools: Callable[], prompt: Prompt): Callable[] {
  return prompt.rounds < (prompt.directives.rounds ?? 1) ? mentioned(tools, prompt.text) : []
}

function mentioned(tools: Callable[], text: string): Callable[] {
  return tools
    .map((tool) => ({ tool, at: placeOf(tool, text) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ tool }) => tool)
}

function placeOf(tool: Callable, text: string): number {
  const flat = wordAt(text, flatToolName(tool))
  return flat >= 0 ? flat : wordAt(text, tool.name)
}

/** Where the name stands by itself: `add` is not in `address`. */
function wordAt(text: string, name: string): number {
  if (name === '') return -1
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    if (!isNameCharacter(text[at - 1]) && !isNameCharacter(text[at + name.length])) return at
  }
  return -1
}

function isNameCharacter(character: string | undefined): boolean {
  return character !== undefined && /[\w-]/.test(character)
}

function isCallable(tool: Tool): tool is Callable {
  return tool.kind !== 'native'
}

function isCalled(tool: Callable, name: string): boolean {
  return name === tool.name || name === flatToolName(tool)
}

/** Arguments are an object, whatever the schema leaves open. */
function argumentsOf(tool: Callable, text: string): string {
  if (tool.kind === 'custom') return text
  return JSON.stringify(sampleOf({ type: 'object', ...tool.schema }, text))
}
