import type { ModelCall } from '../../formats/call/call.ts'
import type { ImagePart } from '../../formats/call/part.ts'
import { collectTexts, type PlacedText, type TextPlace } from '../../formats/call/texts.ts'
import { urlOf } from '../../formats/chat/parts-decode.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'

/** A text or an image that a moderation model classifies, and its place in the request. */
export interface ModerationInput {
  part: string
  role: TextPlace['role']
  /** Null for an image. */
  text: string | null
}

/** The inputs of one request to a moderation model. */
export interface ModerationBatch {
  inputs: ModerationInput[]
  /** Inputs in the OpenAI format: texts, or one image. */
  encoded: string[] | JsonObject[]
}

/** Models classify short texts best, and limit the length of one. */
const maxCharacters = 8000
const maxInputs = 32
/** Batches sent at the same time. Together they hold four million characters. */
const maxBatches = 16

/**
 * Builds the requests to a moderation model: the texts of users and the results of tools, and images if the model reads
 * them. Instructions and earlier replies are not included.
 */
export function buildModerationBatches(call: ModelCall, readsImages: boolean): ModerationBatch[] {
  const inputs = collectTexts(call).filter(isModerated).flatMap(splitText)
  const packed = inputs.length > maxInputs ? packInputs(inputs) : inputs
  const images = readsImages ? collectImages(call) : []
  const batches = [...batchTexts(packed), ...images]
  if (batches.length <= maxBatches) return batches
  throw gatewayError(
    'body_too_large',
    `The prompt is too long to be moderated: at most ${maxBatches * maxInputs * maxCharacters} characters, and fewer with images, of which there are at most ${maxBatches}.`,
  )
}

const moderatedParts: ReadonlySet<string> = new Set(['text', 'file'])

/** Whether a text is of a user or a tool. */
export function isModerated({ text, place }: PlacedText): boolean {
  if (text.trim() === '') return false
  return place.part === 'tool-result' || (place.role === 'user' && moderatedParts.has(place.part))
}

function splitText({ text, place: { part, role } }: PlacedText): ModerationTextInput[] {
  const pieces: ModerationTextInput[] = []
  for (let start = 0; start < text.length; ) {
    const end = findCut(text, start + maxCharacters)
    pieces.push({ part, role, text: text.slice(start, end) })
    start = end
  }
  return pieces
}

type ModerationTextInput = ModerationInput & { text: string }

/** Moves a cut that would split a surrogate pair. */
function findCut(text: string, end: number): number {
  const isSplit = /[\ud800-\udbff]/.test(text.charAt(end - 1)) && /[\udc00-\udfff]/.test(text.charAt(end))
  return isSplit ? end - 1 : end
}

/** Neighboring inputs of one kind as one, so that many short messages do not become many requests. */
function packInputs(inputs: readonly ModerationTextInput[]): ModerationTextInput[] {
  const packed: ModerationTextInput[] = []
  for (const input of inputs) {
    const last = packed.at(-1)
    const canJoin = last?.part === input.part && last.role === input.role
    if (canJoin && last.text.length + input.text.length < maxCharacters) last.text += `\n${input.text}`
    else packed.push({ ...input })
  }
  return packed
}

function batchTexts(inputs: readonly ModerationTextInput[]): ModerationBatch[] {
  const batches: ModerationBatch[] = []
  for (let start = 0; start < inputs.length; start += maxInputs) {
    const batch = inputs.slice(start, start + maxInputs)
    batches.push({ inputs: batch, encoded: batch.map(({ text }) => text) })
  }
  return batches
}

/** Each alone: models accept one image in a request. Handles of uploaded files cannot be read by another vendor. */
function collectImages({ messages }: ModelCall): ModerationBatch[] {
  return messages.flatMap(({ role, parts }) =>
    parts.flatMap((part) => {
      const contents = part.kind === 'tool-result' ? part.content : role === 'user' ? [part] : []
      return contents
        .filter((content): content is ImagePart => content.kind === 'image')
        .flatMap((image) => {
          const url = urlOf(image.source)
          if (url === undefined) return []
          return [
            {
              inputs: [{ part: 'image', role, text: null }],
              encoded: [{ type: 'image_url', image_url: { url } }],
            },
          ]
        })
    }),
  )
}
