/** What the ledger writes behind the back of this connection. */
const ledgerTables =
  /\b(?:generations|meters|holds|generation_contents|stored_responses|stored_pages|stored_item_ids|background_responses|conversations|conversation_items|unrolled_generations|meter_days)\b/

/** Keeps queries back that would miss what the ledger has told, and not yet written. */
export class ReadBarrier {
  wait: () => Promise<void> | null = () => null

  appliesTo(sql: string): boolean {
    return ledgerTables.test(sql)
  }
}
