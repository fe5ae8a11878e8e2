/** Tables that the ledger writes through a connection of its own. */
const ledgerTables =
  /\b(?:generations|meters|holds|generation_contents|generation_lines|guardrail_hits|stored_responses|stored_pages|stored_item_ids|background_responses|video_jobs|conversations|conversation_items|unrolled_generations|meter_days)\b/

/** Delays queries that would miss what the ledger has acknowledged, and not flushed yet. */
export class ReadBarrier {
  wait: () => Promise<void> | null = () => null

  appliesTo(sql: string): boolean {
    return ledgerTables.test(sql)
  }
}
