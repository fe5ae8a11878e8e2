import type { ImageSource, ImagesCall } from '../../formats/call/images.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { EgressError, sendBuffered } from '../../platform/http/egress-client.ts'
import { checkBase64, readBase64Image } from '../../platform/media/base64-image.ts'
import { runInSlices } from '../../platform/time/time-slicer.ts'

/** Milliseconds for all images of a request; slower hosts are not waited for. */
const downloadMs = 30_000
const maxImageBytes = 20 * 1024 * 1024

/** Replaces the URLs of a call by what they refer to, and checks that every image is one. */
export async function downloadReferences(gateway: Gateway, call: ImagesCall): Promise<ImagesCall> {
  const budget = { bytes: gateway.settings.limits.body_bytes, deadline: performance.now() + downloadMs }
  const references: ImageSource[] = []
  for (const [index, source] of call.references.entries()) {
    const field = `input_references.${index}`
    references.push(
      source.kind === 'url'
        ? await downloadReference(gateway, source.url, field, budget)
        : await checkReference(source, field),
    )
  }
  const mask = call.mask && (await checkReference(call.mask, 'mask'))
  return { ...call, references, ...(mask && { mask }) }
}

/** The bytes and the time that several downloads may take together. */
export interface DownloadBudget {
  bytes: number
  /** Milliseconds of the monotonic clock. */
  deadline: number
}

export function remainingMs({ deadline }: DownloadBudget): number {
  return Math.max(1, Math.round(deadline - performance.now()))
}

async function checkReference(source: ImageSource, field: string): Promise<ImageSource> {
  if (source.kind === 'data' && !(await runInSlices(checkBase64(source.data))))
    throw invalidFieldError(field, 'is not valid base64')
  return source
}

/** Downloads an image. `budget` is shared by the images of one request: as many bytes as a body, and some time. */
async function downloadReference(
  { settings }: Gateway,
  url: string,
  field: string,
  budget: DownloadBudget,
): Promise<ImageSource> {
  const maxBytes = Math.min(maxImageBytes, budget.bytes)
  try {
    const { status, bytes } = await sendBuffered(
      { url, method: 'GET', headers: { accept: 'image/*' } },
      { allowPrivate: settings.egress.allow_private, timeoutMs: remainingMs(budget), maxBytes },
    )
    if (status !== 200)
      throw invalidFieldError(field, `could not be downloaded: the host responded with ${status}`)
    budget.bytes -= bytes.length
    const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
    const info = readBase64Image(data)
    if (!info) throw invalidFieldError(field, 'is not an image: PNG, JPEG, WebP, GIF or SVG')
    return { kind: 'data', mediaType: info.mediaType, data }
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    const limit = error.kind === 'too_large' ? ` The limit is ${maxBytes} bytes.` : ''
    throw invalidFieldError(field, `could not be downloaded. ${error.message}${limit}`)
  }
}
