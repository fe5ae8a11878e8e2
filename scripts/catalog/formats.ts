import type { Provider } from '../../src/catalog/provider.ts'
import { type TaskName, tasks, taskWireFormats, type WireFormatName } from '../../src/formats/vocabulary.ts'

/** Formats in which a provider serves some of its models only. */
const modelFormats: Record<string, [WireFormatName, RegExp][]> = {
  'google-ai-studio': [
    ['imagen', /^google\/imagen/],
    ['gemini-images', /^google\/gemini/],
  ],
  'google-vertex': [
    ['gemini', /^google\//],
    ['messages', /^anthropic\//],
    ['chat', /^(?!google\/|anthropic\/)/],
    ['imagen', /^google\/imagen/],
    ['gemini-images', /^google\/gemini/],
  ],
  'amazon-bedrock': [
    ['messages', /^anthropic\//],
    ['chat', /^(?:openai|x-ai)\//],
    ['converse', /^(?!anthropic\/|openai\/|x-ai\/)/],
  ],
}

export interface FormatChoice {
  /** Undefined: the provider's. */
  wireFormats?: WireFormatName[]
  /** Tasks that the provider has no format for, so that the endpoint cannot be used for them yet. */
  missing: string[]
}

/** The formats of an endpoint: those of its provider for the model's tasks. */
export function chooseFormats(
  provider: Provider,
  id: string,
  output: readonly string[],
  isResponsesOnly: boolean,
): FormatChoice {
  const names = listTasks(output)
  const served = provider.wireFormats.filter((name) => isServedIn(provider.slug, id, name, isResponsesOnly))
  const wireFormats = served.filter((wireFormat) =>
    names.some((task) => taskWireFormats[task].has(wireFormat)),
  )
  const missing = names
    .filter((task) => !wireFormats.some((wireFormat) => taskWireFormats[task].has(wireFormat)))
    .map((task) => `${task} at ${provider.slug}`)
  const isWhole = names.join() === 'text' && wireFormats.length === countTextFormats(provider)
  return { ...(wireFormats.length > 0 && !isWhole && { wireFormats }), missing }
}

/**
 * A model with text among its outputs generates its images and audio in the formats of text too. Its outputs do not
 * show whether it moderates.
 */
function listTasks(output: readonly string[]): TaskName[] {
  const names = (Object.keys(tasks) as TaskName[]).filter((task) => task !== 'moderations')
  return names.filter((task) =>
    task === 'text' ? output.includes('text') : tasks[task].outputs.some((name) => output.includes(name)),
  )
}

function isServedIn(slug: string, id: string, name: WireFormatName, isResponsesOnly: boolean): boolean {
  const pattern = modelFormats[slug]?.find(([format]) => format === name)?.[1]
  const isOtherText = isResponsesOnly && taskWireFormats.text.has(name) && name !== 'responses'
  return !isOtherText && (pattern?.test(id) ?? true)
}

function countTextFormats({ wireFormats }: Provider): number {
  return wireFormats.filter((name) => taskWireFormats.text.has(name)).length
}
