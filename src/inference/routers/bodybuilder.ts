import type { Model } from '../../catalog/model.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import { findModelMentions, type ModelMention } from './model-mentions.ts'

/** The body of a chat request. */
interface RequestBody {
  model: string
  messages: { role: 'system' | 'user'; content: string }[]
}

/** More requests are not built from one prompt. */
const maxRequests = 16
/** The model of a prompt that names none. */
const defaultModel = 'service/auto'

/** A request for each model that the last message of the user names, with its task and the system prompt. */
export function buildRequestBodies(
  { messages }: Pick<ModelCall, 'messages'>,
  models: readonly Pick<Model, 'id' | 'author' | 'listed_at'>[],
): { requests: RequestBody[] } {
  const textsOf = (roles: readonly string[]) =>
    messages.filter(({ role }) => roles.includes(role)).map(({ parts }) => joinTexts(parts))
  const system = textsOf(['system', 'developer']).filter((text) => text !== '')
  const prompt = textsOf(['user']).at(-1) ?? ''
  const { task, names } = splitPrompt(prompt, findModelMentions(prompt, models))
  const chosen = names.length > 0 ? [...new Set(names)].slice(0, maxRequests) : [defaultModel]
  return {
    requests: chosen.map((model) => ({
      model,
      messages: [
        ...system.map((content) => ({ role: 'system' as const, content })),
        { role: 'user' as const, content: task },
      ],
    })),
  }
}

function joinTexts(parts: ModelCall['messages'][number]['parts']): string {
  return parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n')
}

/** Separators of the models in a list. */
const separator = /^[\s,;&/'"`+]*(?:(?:and|or|und|et|y|vs\.?|versus|plus)\b[\s,;&/'"`+]*)?$/i
/** Words that introduce the list. */
const introduction =
  /(?:^|[\s,;(])(?:using|with|via|on|by|across|through|from|in|to|ask(?:ing)?|compare|comparing|mit|avec|con)(?:\s+(?:both|the(?:\s+models?)?|models?))?[\s:'"`(]*$/i

const maxIntroduction = 60

/** The list of models that the prompt names, and the prompt without it. */
function splitPrompt(prompt: string, mentions: readonly ModelMention[]): { task: string; names: string[] } {
  for (const list of groupLists(prompt, mentions).reverse()) {
    const [first, last] = [list[0], list.at(-1)]
    if (!first || !last) continue
    const from = Math.max(0, first.start - maxIntroduction)
    const found = introduction.exec(prompt.slice(from, first.start))
    if (!found) continue
    const task = joinAround(prompt.slice(0, from + found.index), prompt.slice(last.end))
    return { task: task === '' ? prompt : task, names: list.map(({ model }) => model) }
  }
  const certain = mentions.filter(({ isCertain }) => isCertain)
  return { task: prompt, names: certain.map(({ model }) => model) }
}

/** Joins the two ends of a sentence whose middle was removed. */
function joinAround(before: string, after: string): string {
  const start = before.trim()
  const end = after.replace(/^['"`)]+/, '').trim()
  if (start === '') return end.replace(/^[\s,;:.]+/, '')
  return /^[.,;:!?]/.test(end) ? start + end : `${start} ${end}`.trim()
}

function groupLists(prompt: string, mentions: readonly ModelMention[]): ModelMention[][] {
  const lists: ModelMention[][] = []
  for (const mention of mentions) {
    const previous = lists.at(-1)?.at(-1)
    if (previous && separator.test(prompt.slice(previous.end, mention.start))) lists.at(-1)?.push(mention)
    else lists.push([mention])
  }
  return lists
}
