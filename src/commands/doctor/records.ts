import type { Config } from '../../config.ts'
import { headsFilePath, readHeadsFile } from '../../governance/audit/heads-file.ts'
import { type ChainReport, verifyChains } from '../../governance/audit/verify.ts'
import { checkLedger } from '../../ledger/check.ts'
import type { Vault } from '../../platform/crypto/crypto.ts'
import type { Db } from '../../platform/db/db.ts'
import { ProgressLine } from '../progress.ts'
import { type CheckResult, failed, passed, warned } from './check-result.ts'

export async function checkLedgerRecords(db: Db): Promise<CheckResult[]> {
  const { findings, figures } = await checkLedger(db)
  const violated = findings.filter(({ violations }) => violations.length > 0)
  if (violated.length > 0)
    return violated.map(({ invariant, statement, violations }) =>
      failed(
        'ledger',
        `${invariant} is violated (${statement}): ${violations[0]}.`,
        'Take a backup first, then see HeadgateLedgerCheckFailed in docs/runbook.md. "headgate check-ledger" prints all violations.',
      ),
    )
  const { entries, generations, unrecovered } = figures
  const sound = passed('ledger', `The invariants hold (${entries} entries, ${generations} generations).`)
  if (unrecovered === 0) return [sound]
  return [
    sound,
    warned(
      'ledger',
      `${unrecovered} requests were interrupted by a crash and not charged.`,
      'Decide about each: see "After a crash" in docs/billing.md.',
    ),
  ]
}

export async function checkAuditLog(db: Db, vault: Vault, { dataDir }: Config): Promise<CheckResult[]> {
  const heads = (await readHeadsFile(headsFilePath(dataDir))) ?? []
  const expected = heads.map((head) => ({ ...head, mayBeDeleted: true }))
  const progress = new ProgressLine('entries verified')
  const reports: ChainReport[] = []
  for await (const report of verifyChains({ db, vault }, expected, (count) => progress.update(count)))
    reports.push(report)
  progress.end()
  const broken = reports.filter(({ problem }) => problem !== null)
  if (broken.length > 0)
    return broken.map(({ chain_id, problem }) =>
      failed(
        'audit log',
        `The chain ${chain_id} is broken: ${problem}`,
        'Keep the database and the data directory as they are, and see HeadgateAuditCheckFailed in docs/runbook.md.',
      ),
    )
  const entries = reports.reduce((sum, report) => sum + report.entries, 0)
  const complete = passed('audit log', `${reports.length} chains are complete (${entries} entries).`)
  if (heads.length > 0 || reports.length === 0) return [complete]
  return [
    complete,
    warned(
      'audit log',
      'The data directory has no noted heads (audit-heads.txt), so a restored backup would not be noticed.',
      'The server writes the file within a minute. With several nodes, run this where one of them has run.',
    ),
  ]
}
