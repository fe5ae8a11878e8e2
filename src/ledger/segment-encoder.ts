import type { AdmitOperation, Settlement } from './engine.ts'
import type { DraftColumns } from './generation.ts'
import {
  encodeAdmit,
  encodeCharge,
  encodeRepeat,
  encodeSettlement,
  encodeSpooledSettlement,
  type JournalLine,
} from './journal-line.ts'

/** The lines of a key that others are compared with. */
const maxSamplesPerKey = 8

/** A line that was written in full, by its place among those of the segment. */
interface Sample {
  index: number
  draft: DraftColumns
  /** Null for a settlement. */
  hold: AdmitOperation | null
  /** Where it is metered; null if that is not written. */
  meteredIn: Settlement['meteredIn']
}

/**
 * Encodes the holds and settlements of one segment of the journal. What the next request of the same key has in
 * common with one before is not written again.
 */
export class SegmentEncoder {
  readonly #hasMeters: boolean
  #fullLines = 0
  readonly #samplesByKey = new Map<number, Sample[]>()

  /** `hasMeters`: a settlement can be read without its hold. */
  constructor({ hasMeters = false } = {}) {
    this.#hasMeters = hasMeters
  }

  encodeAdmit(op: AdmitOperation): JournalLine {
    const { generation } = op.draft
    const isRepeatable = op.request.free === null && generation.id === op.request.id
    if (isRepeatable)
      for (const { index, draft, hold } of this.#samplesByKey.get(generation.key_id) ?? noSamples)
        if (hold && isLikeDraft(generation, draft) && isLikeHold(op, hold)) return encodeRepeat(op, index)
    this.#addSample({
      index: this.#fullLines++,
      draft: generation,
      hold: isRepeatable ? op : null,
      meteredIn: op.request,
    })
    return encodeAdmit(op)
  }

  encodeSettlement(op: Settlement): JournalLine {
    const { generation } = op
    const index = this.#fullLines
    if (
      generation &&
      !op.uncharged &&
      generation.draft.id === op.id &&
      generation.draft.organization_id === op.organizationId
    ) {
      for (const sample of this.#samplesByKey.get(generation.draft.key_id) ?? noSamples)
        if (isLikeDraft(generation.draft, sample.draft) && (!this.#hasMeters || isMeteredLike(op, sample)))
          return encodeCharge(op, generation, sample.index)
      this.#addSample({ index, draft: generation.draft, hold: null, meteredIn: op.meteredIn })
    }
    this.#fullLines++
    return this.#hasMeters ? encodeSpooledSettlement(op) : encodeSettlement(op)
  }

  #addSample(sample: Sample): void {
    const { key_id } = sample.draft
    const samples = this.#samplesByKey.get(key_id)
    if (!samples) this.#samplesByKey.set(key_id, [sample])
    else if (samples.length < maxSamplesPerKey) samples.push(sample)
    else samples[sample.index % maxSamplesPerKey] = sample
  }
}

const noSamples: readonly Sample[] = []

function isMeteredLike({ meteredIn }: Settlement, sample: Sample): boolean {
  return meteredIn?.subjects === sample.meteredIn?.subjects && meteredIn?.day === sample.meteredIn?.day
}

/** Whether all columns are equal that are not among `repeatedColumns`. */
function isLikeDraft(a: DraftColumns, b: DraftColumns): boolean {
  return (
    a.key_id === b.key_id &&
    a.requested_model === b.requested_model &&
    a.user_agent === b.user_agent &&
    a.dialect === b.dialect &&
    a.streamed === b.streamed &&
    a.api_type === b.api_type &&
    a.app_url === b.app_url &&
    a.app_title === b.app_title &&
    a.preset_id === b.preset_id &&
    a.region === b.region &&
    a.tags === b.tags &&
    a.user_id === b.user_id &&
    a.workspace_id === b.workspace_id &&
    a.organization_id === b.organization_id
  )
}

/** Whether a hold with a similar draft differs only in its amounts, its expiry and the size of its prompt. */
function isLikeHold({ request, owner, draft }: AdmitOperation, other: AdmitOperation): boolean {
  const { initialTarget: a, byokFee } = draft
  const { initialTarget: b } = other.draft
  return (
    request.subjects === other.request.subjects &&
    request.day === other.request.day &&
    owner === other.owner &&
    byokFee === other.draft.byokFee &&
    a.pricing === b.pricing &&
    a.model === b.model &&
    a.provider === b.provider &&
    a.endpoint === b.endpoint &&
    a.upstream_dialect === b.upstream_dialect &&
    a.is_byok === b.is_byok
  )
}
