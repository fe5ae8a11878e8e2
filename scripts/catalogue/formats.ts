import type { Provider } from '../../src/catalog/provider.ts'
import { type DialectName, type TaskName, taskDialects, tasks } from '../../src/formats/vocabulary.ts'

/** Formats in which a provider serves some of its models only. */
const modelFormats: Record<string, [DialectName, RegExp][]> = {
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
    ['chat', /^(?!anthropic\/)/],
  ],
}

export interface FormatChoice {
  /** Undefined: the provider's. */
  dialects?: DialectName[]
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
  const served = provider.dialects.filter((name) => isServedIn(provider.slug, id, name, isResponsesOnly))
  const dialects = served.filter((dialect) => names.some((task) => taskDialects[task].has(dialect)))
  const missing = names
    .filter((task) => !dialects.some((dialect) => taskDialects[task].has(dialect)))
    .map((task) => `${task} at ${provider.slug}`)
  const isWhole = names.join() === 'text' && dialects.length === countTextFormats(provider)
  return { ...(dialects.length > 0 && !isWhole && { dialects }), missing }
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

function isServedIn(slug: string, id: string, name: DialectName, isResponsesOnly: boolean): boolean {
  const pattern = modelFormats[slug]?.find(([format]) => format === name)?.[1]
  const isOtherText = isResponsesOnly && taskDialects.text.has(name) && name !== 'responses'
  return !isOtherText && (pattern?.test(id) ?? true)
}

function countTextFormats({ dialects }: Provider): number {
  return dialects.filter((name) => taskDialects.text.has(name)).length
}
