import type { TranscriptSegment } from '../call/transcription.ts'

/** SubRip. */
export function encodeSrt(segments: readonly TranscriptSegment[]): string {
  return segments
    .map(
      (segment, index) =>
        `${index + 1}\n${formatTime(segment.start, ',')} --> ${formatTime(segment.end, ',')}\n${cueText(segment)}\n\n`,
    )
    .join('')
}

/** WebVTT. */
export function encodeVtt(segments: readonly TranscriptSegment[]): string {
  const cues = segments.map(
    (segment) =>
      `${formatTime(segment.start, '.')} --> ${formatTime(segment.end, '.')}\n${cueText(segment)}\n\n`,
  )
  return `WEBVTT\n\n${cues.join('')}`
}

/** An empty line would end the cue, and an arrow would be read as its times. */
function cueText({ text }: TranscriptSegment): string {
  return text
    .trim()
    .replace(/\s*\n\s*/g, '\n')
    .replaceAll('-->', '->')
}

function formatTime(seconds: number, separator: string): string {
  const milliseconds = Math.round(seconds * 1000)
  const [whole, rest] = [Math.floor(milliseconds / 1000), milliseconds % 1000]
  const fields = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  const time = fields.map((field) => String(field).padStart(2, '0')).join(':')
  return `${time}${separator}${String(rest).padStart(3, '0')}`
}
