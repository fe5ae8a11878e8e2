import type { TranscriptionReply } from '../../formats/call/transcription.ts'
import type { MediaFilter } from '../guard/media-filter.ts'

/** The transcript with its segments and words as the filters leave them. */
export async function filterTranscript(
  reply: TranscriptionReply,
  text: string,
  filter: MediaFilter,
): Promise<TranscriptionReply> {
  if (!filter.isStrict) return reply
  const segments = await filter.redactPieces(reply.segments.map((segment) => segment.text))
  const words = await filter.redactPieces(reply.words.map(({ word }) => word))
  // Tokens and their probabilities spell the text.
  const { logprobs: _logprobs, ...rest } = reply
  return {
    ...rest,
    text,
    segments: reply.segments.map(({ tokens, ...segment }, index) => {
      const redacted = segments[index] ?? ''
      return { ...segment, text: redacted, ...(tokens && redacted === segment.text && { tokens }) }
    }),
    words: reply.words.map((word, index) => ({ ...word, word: words[index] ?? '' })),
  }
}
