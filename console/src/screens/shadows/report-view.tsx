import { SimpleGrid, Text } from '@mantine/core'
import type { Schemas } from '../../api/client.ts'
import { DataTable } from '../../components/data-table.tsx'
import { Figure } from '../../components/figure.tsx'
import { Money } from '../../components/money.tsx'
import { Panel } from '../../components/panel.tsx'
import { formatDuration } from '../../format/number.ts'
import { describeKind, describeReason } from './words.ts'

type Report = Schemas['ShadowReport']

export function ReportView({ report }: { report: Report }) {
  const { mirrored, identical, cost_usd, spend } = report
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
        <Figure label="Requests compared">{mirrored}</Figure>
        <Figure label="Without a difference">{identical}</Figure>
        <Figure label="Cost of the mirrors compared to the originals">
          <Money value={cost_usd.mirror} /> / <Money value={cost_usd.original} />
        </Figure>
        <Figure label="Spent today of the budget">
          <Money value={spend.today_usd} /> / <Money value={spend.daily_usd} />
        </Figure>
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Counts
          title="Differences"
          header="What differs"
          none="No reply differs."
          rows={report.differing.map(({ kind, requests }) => ({ name: describeKind(kind), requests }))}
        />
        <Counts
          title="Not mirrored"
          header="Why"
          none="Every chosen request was mirrored."
          rows={report.skipped.map(({ reason, requests }) => ({ name: describeReason(reason), requests }))}
        />
        <Counts
          title="Errors of the originals"
          header="Error"
          none="No original failed."
          rows={report.errors.original.map(({ code, requests }) => ({ name: code, requests }))}
        />
        <Counts
          title="Errors of the mirrors"
          header="Error"
          none="No mirror failed."
          rows={report.errors.mirror.map(({ code, requests }) => ({ name: code, requests }))}
        />
      </SimpleGrid>
      <Times report={report} />
    </>
  )
}

interface CountsProps {
  title: string
  header: string
  none: string
  rows: { name: string; requests: number }[]
}

function Counts({ title, header, none, rows }: CountsProps) {
  return (
    <Panel title={title}>
      {rows.length === 0 ? (
        <Text size="sm" c="dimmed">
          {none}
        </Text>
      ) : (
        <DataTable
          rows={rows}
          keyOf={({ name }) => name}
          minWidth={240}
          columns={[
            { header, breaksWords: true, render: ({ name }) => name },
            { header: 'Requests', isNumber: true, render: ({ requests }) => requests },
          ]}
        />
      )}
    </Panel>
  )
}

function Times({ report }: { report: Report }) {
  const rows = [
    { name: 'Latency', times: report.latency_ms },
    { name: 'First token', times: report.first_token_ms },
  ].flatMap(({ name, times }) =>
    (['p50', 'p95'] as const).map((share) => ({
      name: `${name}, ${share}`,
      original: times.original?.[share],
      mirror: times.mirror?.[share],
      difference: times.difference?.[share],
    })),
  )
  return (
    <Panel title="Times" description="Differences are computed per request and then aggregated.">
      <DataTable
        rows={rows}
        keyOf={({ name }) => name}
        minWidth={340}
        columns={[
          { header: 'Time', render: ({ name }) => name },
          { header: 'Original', isNumber: true, render: ({ original }) => format(original) },
          { header: 'Mirror', isNumber: true, render: ({ mirror }) => format(mirror) },
          { header: 'Difference', isNumber: true, render: ({ difference }) => formatSigned(difference) },
        ]}
      />
    </Panel>
  )
}

function format(ms: number | undefined): string {
  return ms === undefined ? '–' : formatDuration(ms)
}

function formatSigned(ms: number | undefined): string {
  if (ms === undefined) return '–'
  return `${ms < 0 ? '−' : '+'}${formatDuration(Math.abs(ms))}`
}
