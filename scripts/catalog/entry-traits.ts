import type { ModelDeclaration } from '../../src/catalog/declared-model.ts'
import type { ParameterName } from '../../src/formats/vocabulary.ts'
import { type PriceEntry, readFlag, readPrice } from './price-list.ts'

type OutputModalities = NonNullable<ModelDeclaration['output_modalities']>
type Reasoning = NonNullable<ModelDeclaration['reasoning']>
type InputModality = NonNullable<ModelDeclaration['input_modalities']>[number]

/** The modes of the price list for which the gateway has an operation. */
const modes: Record<string, OutputModalities> = {
  chat: ['text'],
  responses: ['text'],
  embedding: ['embeddings'],
  rerank: ['rerank'],
  image_generation: ['image'],
  image_edit: ['image'],
  audio_speech: ['speech'],
  audio_transcription: ['transcription'],
  video_generation: ['video'],
}

export function isServedMode(mode: string): boolean {
  return modes[mode] !== undefined
}

export function isTextMode(mode: string): boolean {
  return mode === 'chat' || mode === 'responses'
}

/** The outputs of a model: some image models reply with text, too. */
export function outputOf({ mode, fields }: PriceEntry): OutputModalities | undefined {
  const listed = fields.supported_output_modalities
  const hasText = mode === 'image_generation' && Array.isArray(listed) && listed.includes('text')
  return hasText ? ['image', 'text'] : modes[mode]
}

/**
 * Reads the inputs of a model besides text: from its flags, and from `supported_modalities` where it generates media.
 */
export function readInputModalities(entry: PriceEntry): InputModality[] {
  const listed = entry.fields.supported_modalities
  const isListed = (name: string) => Array.isArray(listed) && listed.includes(name)
  switch (entry.mode) {
    case 'audio_transcription':
      return ['audio']
    case 'audio_speech':
    case 'rerank':
      return ['text']
    case 'embedding':
      return ['text', ...(acceptsEmbeddedImages(entry) ? (['image'] as const) : [])]
    case 'video_generation':
      // An input image with a price of its own could not be charged.
      return readPrice(entry, 'input_cost_per_image') === undefined && isListed('image')
        ? ['text', 'image']
        : ['text']
    case 'image_generation':
    case 'image_edit':
      return acceptsImages(entry) || isListed('image') ? ['text', 'image'] : ['text']
    default:
      return ['text', ...readFlaggedModalities(entry)]
  }
}

function acceptsEmbeddedImages(entry: PriceEntry): boolean {
  return (
    readFlag(entry, 'supports_embedding_image_input') === true || readFlag(entry, 'supports_vision') === true
  )
}

function acceptsImages(entry: PriceEntry): boolean {
  const { supported_endpoints: paths } = entry.fields
  return (
    readFlag(entry, 'supports_vision') === true ||
    (Array.isArray(paths) && paths.includes('/v1/images/edits'))
  )
}

const inputFlags: [string, InputModality][] = [
  ['supports_vision', 'image'],
  ['supports_pdf_input', 'file'],
  ['supports_audio_input', 'audio'],
  ['supports_video_input', 'video'],
]

function readFlaggedModalities(entry: PriceEntry): InputModality[] {
  return inputFlags.flatMap(([flag, modality]) => (readFlag(entry, flag) === true ? [modality] : []))
}

const parameterFlags: [string, ParameterName[]][] = [
  ['supports_function_calling', ['tools']],
  ['supports_tool_choice', ['tool_choice']],
  ['supports_parallel_function_calling', ['parallel_tool_calls']],
  ['supports_response_schema', ['response_format', 'structured_outputs']],
  ['supports_reasoning', ['reasoning', 'include_reasoning']],
]

/** Parameters that some provider of the model is known to support. */
export function readParameters(entries: readonly PriceEntry[]): ParameterName[] {
  return parameterFlags.flatMap(([flag, names]) =>
    entries.some((entry) => readFlag(entry, flag) === true) ? names : [],
  )
}

const samplingParameters: ParameterName[] = [
  'temperature',
  'top_p',
  'top_k',
  'frequency_penalty',
  'presence_penalty',
]

/** Parameters that the price list says a provider rejects. */
export function readRejectedParameters(entry: PriceEntry): ParameterName[] {
  const rejected = parameterFlags.flatMap(([flag, names]) => (readFlag(entry, flag) === false ? names : []))
  return readFlag(entry, 'supports_sampling_params') === false
    ? [...rejected, ...samplingParameters]
    : rejected
}

const effortFlags: [NonNullable<Reasoning['supported_efforts']>[number], string | undefined][] = [
  ['max', 'supports_max_reasoning_effort'],
  ['xhigh', 'supports_xhigh_reasoning_effort'],
  ['high', undefined],
  ['medium', undefined],
  ['low', undefined],
  ['minimal', 'supports_minimal_reasoning_effort'],
  ['none', 'supports_none_reasoning_effort'],
]

/** Known only if the price list has the efforts of the model, or says whether reasoning can be switched off. */
export function readReasoning(entry: PriceEntry): Reasoning | undefined {
  const { reasoning_effort_levels: levels, default_reasoning_effort: standard } = entry.fields
  const hasLevels = Array.isArray(levels) && levels.length > 0
  if (!hasLevels && readFlag(entry, 'supports_none_reasoning_effort') === undefined) return undefined
  const efforts = effortFlags
    .filter(([effort, flag]) =>
      hasLevels ? levels.includes(effort) : flag === undefined || readFlag(entry, flag) === true,
    )
    .map(([effort]) => effort)
  const preferred = efforts.find((effort) => effort === standard)
  return {
    mandatory: !efforts.includes('none'),
    ...(preferred && { default_effort: preferred }),
    supported_efforts: efforts,
  }
}
