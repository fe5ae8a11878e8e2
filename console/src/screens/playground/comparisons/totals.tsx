import { type Column, DataTable } from '../../../components/data-table.tsx'
import { Money } from '../../../components/money.tsx'
import { Panel } from '../../../components/panel.tsx'
import { formatCount, formatDuration } from '../../../format/number.ts'
import type { Total } from './matrix.ts'

/** Wins, cost and times of each model. */
export function Totals({ totals }: { totals: readonly Total[] }) {
  return (
    <Panel title="Totals">
      <DataTable
        columns={columns}
        rows={totals.map((total, position) => ({ ...total, position }))}
        keyOf={({ position }) => String(position)}
        minWidth={560}
      />
    </Panel>
  )
}

const columns: Column<Total & { position: number }>[] = [
  { header: 'Model', breaksWords: true, render: ({ model }) => model },
  { header: 'Wins', isNumber: true, render: ({ wins }) => formatCount(wins) },
  { header: 'Votes', isNumber: true, render: ({ votes }) => formatCount(votes) },
  { header: 'Replies', isNumber: true, render: ({ replies }) => formatCount(replies) },
  { header: 'Cost', isNumber: true, render: ({ cost }) => <Money value={cost} /> },
  { header: 'Mean first token', isNumber: true, render: ({ latency }) => formatMean(latency) },
  { header: 'Mean total', isNumber: true, render: ({ generation_time }) => formatMean(generation_time) },
]

function formatMean(ms: number | null): string {
  return ms === null ? '–' : formatDuration(ms)
}
