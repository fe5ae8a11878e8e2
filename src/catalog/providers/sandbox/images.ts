import type { UpstreamFailure } from '../../../formats/call/failure.ts'
import type { ImageEvent, ImagesCall, PixelSize } from '../../../formats/call/images.ts'
import { zeroUsage } from '../../../formats/call/usage.ts'
import { computeSize } from '../../../formats/images/geometry.ts'
import type { SimulateOptions } from '../simulation.ts'
import { drawPicture } from './artifacts/picture.ts'
import { buildFailure, type Directives, readDirectives } from './directives.ts'
import { countTextTokens, imageTokens } from './tokens.ts'

const defaultPreviews = 2
const formats = ['png', 'jpeg', 'webp'] as const

/** Paints the words of the prompt; a preview has only the first of them. The same call always gets the same images. */
export async function* simulateImages(
  call: ImagesCall,
  { signal, sleep }: SimulateOptions,
): AsyncGenerator<ImageEvent> {
  const { directives, rest: text } = readDirectives(call.prompt)
  if (directives.startDelayMs) await sleep(directives.startDelayMs)
  const failure = buildFailure(directives) ?? findRefusal(directives)
  if (failure) return yield { type: 'error', failure }
  const size = call.size ?? computeSize(call)
  const paint = (words: string, index: number) => paintImage(call, words, size, index)
  const previews = call.stream ? (call.partialImages ?? defaultPreviews) : 0
  for (let preview = 0; preview < previews; preview++) {
    if (preview === directives.breakAfter) return
    if (preview === directives.failAfter) return yield { type: 'error', failure: failedWithin }
    if (directives.deltaDelayMs && preview > 0) await sleep(directives.deltaDelayMs)
    signal.throwIfAborted()
    const words = takeShare(text, (preview + 1) / (previews + 1))
    yield { type: 'partial-image', index: preview, data: await paint(words, 0) }
  }
  if (directives.breakAfter !== undefined) return
  if (directives.failAfter !== undefined) return yield { type: 'error', failure: failedWithin }
  for (let index = 0; index < (directives.empty ? 0 : call.n); index++) {
    signal.throwIfAborted()
    yield { type: 'image', image: { source: { kind: 'data', data: await paint(text, index) } } }
  }
  if (!directives.noUsage) yield { type: 'usage', usage: countUsage(call) }
}

async function paintImage(
  { background, outputFormat, outputCompression, seed = 0 }: ImagesCall,
  text: string,
  size: PixelSize,
  index: number,
): Promise<string> {
  const picture = await drawPicture({
    text,
    ...size,
    background: background === 'transparent' ? 'transparent' : 'opaque',
    seed: seed + index,
    format: formats.find((format) => format === outputFormat) ?? 'png',
    ...(outputCompression !== undefined && { quality: outputCompression }),
  })
  return Buffer.from(picture.buffer, picture.byteOffset, picture.byteLength).toString('base64')
}

function takeShare(text: string, share: number): string {
  const words = text.split(/\s+/)
  return words.slice(0, Math.ceil(words.length * share)).join(' ')
}

/** References are billed by number. */
function countUsage({ prompt, n }: ImagesCall) {
  return {
    ...zeroUsage,
    input: countTextTokens(prompt),
    outputImage: imageTokens * n,
  }
}

const failedWithin: UpstreamFailure = {
  kind: 'server',
  status: null,
  message: 'The sandbox was directed to fail within its reply.',
  code: 'sandbox_failure',
}

function findRefusal({ refuse, filter }: Directives): UpstreamFailure | undefined {
  if (!refuse && !filter) return undefined
  const message = 'The sandbox was directed to refuse the prompt.'
  return { kind: 'content_policy_violation', status: 400, message, code: 'sandbox_content_policy' }
}
