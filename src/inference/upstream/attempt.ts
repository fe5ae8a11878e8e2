import type { ReplyContext } from '../../formats/wire-format.ts'
import type { ReplyPipeline } from '../reply/transforms.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { Translation } from './translate.ts'

/** One candidate, with the request encoded for it and the stages of its reply. */
export interface Attempt {
  candidate: Candidate
  translation: Translation
  context: ReplyContext
  pipeline: ReplyPipeline
}

/** An attempt whose upstream has begun to reply. */
export interface AcceptedAttempt<R> extends Attempt {
  reply: R
}
