import {
  type CustomTool,
  type FunctionTool,
  flattenToolName,
  type ModelCall,
  type Tool,
} from '../../../formats/call/call.ts'
import type { Prompt } from './prompt.ts'
import { generateSample } from './sample.ts'

type Callable = FunctionTool | CustomTool

export interface PlannedCall {
  name: string
  arguments: string
  custom: boolean
}

/** The tool calls of the reply; empty if it is text. */
export function planToolCalls(call: ModelCall, prompt: Prompt): PlannedCall[] {
  const chosen = chooseTools(call, prompt)
  return (call.parallelToolCalls === false ? chosen.slice(0, 1) : chosen).map((tool) => ({
    name: flattenToolName(tool),
    arguments: buildArguments(tool, prompt.text),
    custom: tool.kind === 'custom',
  }))
}

/** The tool that `tool_choice` requires although it is not declared. */
export function findMissingTool({ tools = [], toolChoice }: ModelCall): string | undefined {
  if (toolChoice?.kind !== 'tool') return undefined
  const exists = tools.some((tool) => isCallable(tool) && hasName(tool, toolChoice.name))
  return exists ? undefined : toolChoice.name
}

function chooseTools({ tools = [], toolChoice }: ModelCall, prompt: Prompt): Callable[] {
  const callable = tools.filter(isCallable)
  switch (toolChoice?.kind) {
    case 'none':
      return []
    case 'tool':
      return callable.filter((tool) => hasName(tool, toolChoice.name)).slice(0, 1)
    case 'required':
      return chooseRequired(callable, prompt)
    case 'allowed': {
      const allowed = callable.filter((tool) => toolChoice.names.some((name) => hasName(tool, name)))
      return toolChoice.required ? chooseRequired(allowed, prompt) : chooseMentioned(allowed, prompt)
    }
    default:
      return chooseMentioned(callable, prompt)
  }
}

/** Chooses at least one tool, even if the message names none. */
function chooseRequired(tools: Callable[], prompt: Prompt): Callable[] {
  const named = findMentioned(tools, prompt.text)
  return named.length > 0 ? named : tools.slice(0, 1)
}

/** The tools that the message names, until the requested number of rounds. */
function chooseMentioned(tools: Callable[], prompt: Prompt): Callable[] {
  return prompt.rounds < (prompt.directives.rounds ?? 1) ? findMentioned(tools, prompt.text) : []
}

function findMentioned(tools: Callable[], text: string): Callable[] {
  return tools
    .map((tool) => ({ tool, at: findMention(tool, text) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ tool }) => tool)
}

function findMention(tool: Callable, text: string): number {
  const flat = indexOfWord(text, flattenToolName(tool))
  return flat >= 0 ? flat : indexOfWord(text, tool.name)
}

/** Whole words only: `add` does not match `address`. */
function indexOfWord(text: string, name: string): number {
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

function hasName(tool: Callable, name: string): boolean {
  return name === tool.name || name === flattenToolName(tool)
}

/** Arguments must be an object, even if the schema allows other types. */
function buildArguments(tool: Callable, text: string): string {
  if (tool.kind === 'custom') return text
  return JSON.stringify(generateSample({ type: 'object', ...tool.schema }, text))
}
