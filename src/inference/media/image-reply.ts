import type {
  GeneratedImage,
  ImageEvent,
  ImagesCall,
  ImagesReply,
  ReceivedImage,
} from '../../formats/call/images.ts'
import type { Usage } from '../../formats/call/usage.ts'
import { listReplyUnits } from '../../formats/images/units.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { EgressError, sendBuffered } from '../../platform/http/egress-client.ts'
import { checkBase64, readBase64Image } from '../../platform/media/base64-image.ts'
import { runInSlices } from '../../platform/time/time-slicer.ts'
import { UpstreamError, unexpectedReplyError } from '../failures/errors.ts'
import type { MediaFilter } from '../guard/media-filter.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import { type DownloadBudget, remainingMs } from './image-references.ts'

/** Reads a reply to its end; it counts only if every image of it is complete. */
export async function collectImages(
  gateway: Gateway,
  exchange: UpstreamExchange,
  call: ImagesCall,
  events: AsyncGenerator<ImageEvent>,
): Promise<ImagesReply> {
  const collector = new ImageCollector(call)
  try {
    for await (const event of events) collector.add(event)
    return await collector.finish(gateway)
  } catch (error) {
    throw exchange.toError(error)
  } finally {
    exchange.release()
  }
}

/** Collects the events of a reply. */
export class ImageCollector {
  readonly #call: ImagesCall
  readonly #received: ReceivedImage[] = []
  #usage: Usage | null = null
  #quality: string | undefined

  constructor(call: ImagesCall) {
    this.#call = call
    this.#quality = call.quality
  }

  add(event: ImageEvent): void {
    if (event.type === 'error') throw new UpstreamError(event.failure)
    if (event.type === 'image') this.#received.push(event.image)
    else if (event.type === 'usage') this.#usage = event.usage
    else if (event.type === 'quality') this.#quality = event.quality
  }

  /** All or nothing: fewer images than requested, or one that is none, are a failure of the provider. */
  async finish(gateway: Gateway): Promise<ImagesReply> {
    const { n } = this.#call
    if (this.#received.length < n)
      throw unexpectedReplyError(`The provider sent ${this.#received.length} of ${n} images.`)
    const { reply_bytes, first_byte } = gateway.settings.limits
    const budget = { bytes: reply_bytes, deadline: performance.now() + first_byte }
    const images: GeneratedImage[] = []
    for (const received of this.#received.slice(0, n))
      images.push(await completeImage(gateway, received, budget))
    const units = listReplyUnits(this.#call, images, this.#quality, countInputPixels(this.#call))
    return { images, text: joinPrompts(images), usage: this.#usage, units }
  }
}

/** The reply with its revised prompts as the filters leave them. */
export async function filterImages(reply: ImagesReply, filter: MediaFilter): Promise<ImagesReply> {
  const images: GeneratedImage[] = []
  for (const image of reply.images) {
    const { revisedPrompt } = image
    images.push(
      revisedPrompt === undefined ? image : { ...image, revisedPrompt: await filter.redact(revisedPrompt) },
    )
  }
  return { ...reply, images, text: joinPrompts(images) }
}

function joinPrompts(images: readonly GeneratedImage[]): string {
  return images.flatMap(({ revisedPrompt }) => revisedPrompt ?? []).join('\n\n')
}

async function completeImage(
  gateway: Gateway,
  { source, revisedPrompt }: ReceivedImage,
  budget: DownloadBudget,
): Promise<GeneratedImage> {
  const data = source.kind === 'data' ? source.data : await downloadImage(gateway, source.url, budget)
  const info = readBase64Image(data)
  const isValid = info !== null && (source.kind === 'url' || (await runInSlices(checkBase64(data))))
  if (!isValid) throw unexpectedReplyError('The provider sent an image that cannot be decoded.')
  return { data, ...info, ...(revisedPrompt !== undefined && { revisedPrompt }) }
}

/** The URLs in replies are public and expire; the provider's address and key do not apply to them. */
async function downloadImage({ settings }: Gateway, url: string, budget: DownloadBudget): Promise<string> {
  const { allow_private: allowPrivate } = settings.egress
  try {
    const { status, bytes } = await sendBuffered(
      { url, method: 'GET', headers: {} },
      { allowPrivate, timeoutMs: remainingMs(budget), maxBytes: budget.bytes },
    )
    if (status !== 200)
      throw unexpectedReplyError(`An image of the provider could not be downloaded (${status}).`)
    budget.bytes -= bytes.length
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    throw unexpectedReplyError(`An image of the provider could not be downloaded. ${error.message}`)
  }
}

function countInputPixels({ references, mask }: ImagesCall): number {
  const sources = mask ? [...references, mask] : references
  return sources.reduce((sum, source) => {
    const size = source.kind === 'data' ? readBase64Image(source.data)?.size : null
    return sum + (size ? size.width * size.height : 0)
  }, 0)
}
