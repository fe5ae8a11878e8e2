/** The routing rule that a request met. */
export interface AppliedRule {
  id: string
  name: string
  /** The model that the client requested. */
  requested: string
  hasModels: boolean
  /** The message for the client of a request that it rejects. */
  rejection: string | null
}
