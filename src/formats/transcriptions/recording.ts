import { type GatewayError, gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { type AudioFormat, detectAudio } from '../../platform/media/audio-info.ts'
import type { Recording } from '../call/transcription.ts'
import { audioFormatNames } from './schema.ts'

/** A recording, the field it came in, for errors, and its claims about its format. */
export interface AudioSource {
  /** `file` or `input_audio.data`. */
  field: string
  bytes: Uint8Array<ArrayBuffer>
  filename: string | undefined
  contentType: string | undefined
  /** The format that a JSON body states. */
  format: AudioFormat | undefined
}

export const maxRecordingBytes = 25 * 1024 * 1024

/** Speech in Opus at its lowest rate: no recording of this size is longer. */
const lowestBitsPerSecond = 6000
/** The rate of recordings made in browsers, which do not state their length. */
const usualBitsPerSecond = 32_000

/** Formats whose length follows from the sound itself; others state it in a header, which may be false. */
const measuredFormats: ReadonlySet<AudioFormat> = new Set<AudioFormat>(['wav', 'mp3', 'aac'])

const mediaTypes: Record<AudioFormat, string> = {
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  flac: 'audio/flac',
  m4a: 'audio/mp4',
  ogg: 'audio/ogg',
  webm: 'audio/webm',
  aac: 'audio/aac',
}

/** Formats by extension, and by media type without its first part. */
const formatNames: ReadonlyMap<string, AudioFormat> = new Map<string, AudioFormat>([
  ...audioFormatNames.map((name): [string, AudioFormat] => [name, name]),
  ['wave', 'wav'],
  ['x-wav', 'wav'],
  ['vnd.wave', 'wav'],
  ['x-pn-wav', 'wav'],
  ['mpeg', 'mp3'],
  ['mpga', 'mp3'],
  ['x-mp3', 'mp3'],
  ['x-flac', 'flac'],
  ['mp4', 'm4a'],
  ['x-m4a', 'm4a'],
  ['oga', 'ogg'],
  ['opus', 'ogg'],
  ['x-aac', 'aac'],
  ['aacp', 'aac'],
])

/** Checks that a recording is what it claims to be, and measures it. */
export async function readRecording(source: AudioSource): Promise<Recording> {
  const { field, bytes } = source
  if (bytes.length === 0) throw invalidFieldError(field, 'is empty')
  if (bytes.length > maxRecordingBytes) throw recordingTooLargeError(field)
  const audio = await detectAudio(bytes)
  if (!audio) throw invalidFieldError(field, `must be one of ${audioFormatNames.join(', ')}`)
  const { format, durationSeconds } = audio
  for (const [what, claimed] of listClaims(source)) {
    if (claimed !== format) throw invalidFieldError(field, `is ${format}, but its ${what} says ${claimed}`)
  }
  const isMeasured = measuredFormats.has(format) && durationSeconds !== null
  const longest = isMeasured ? 0 : (bytes.length * 8) / lowestBitsPerSecond
  return {
    bytes,
    format,
    // Providers go by the extension.
    filename: `audio.${format}`,
    mediaType: mediaTypes[format],
    durationMs: toMilliseconds(durationSeconds ?? (bytes.length * 8) / usualBitsPerSecond),
    maxDurationMs: toMilliseconds(Math.max(durationSeconds ?? 0, longest)),
  }
}

function toMilliseconds(seconds: number): number {
  return Math.ceil(seconds * 1000)
}

/** Lists the formats claimed by name and type. A name or type that is not of an audio format makes no claim. */
function listClaims({ filename, contentType, format }: AudioSource): [string, AudioFormat][] {
  const extension = /\.([a-z0-9]+)$/i.exec(filename ?? '')?.[1]
  const subtype = /^(?:audio|video|application)\/([\w.+-]+)/i.exec(contentType ?? '')?.[1]
  const claims: [string, AudioFormat | undefined][] = [
    ['name', formatNames.get(extension?.toLowerCase() ?? '')],
    ['content type', formatNames.get(subtype?.toLowerCase() ?? '')],
    ['format', format],
  ]
  return claims.filter((claim): claim is [string, AudioFormat] => claim[1] !== undefined)
}

export function recordingTooLargeError(field: string): GatewayError {
  return gatewayError('body_too_large', `${field}: is larger than ${maxRecordingBytes} bytes.`, {
    max_bytes: maxRecordingBytes,
  })
}
