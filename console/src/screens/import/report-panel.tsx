import { Badge, Text } from '@mantine/core'
import type { Schemas } from '../../api/client.ts'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Panel } from '../../components/panel.tsx'
import { nameSource } from './import-draft.ts'

type Report = Schemas['ImportReport']
type Item = Report['items'][number]

const colors: Record<Item['outcome'], string> = {
  created: 'teal',
  updated: 'blue',
  existing: 'gray',
  skipped: 'orange',
}

const columns: Column<Item & { id: string }>[] = [
  {
    header: 'Outcome',
    render: ({ outcome }) => (
      <Badge variant="dot" color={colors[outcome]} tt="none" miw="max-content">
        {outcome}
      </Badge>
    ),
  },
  { header: 'Kind', render: ({ kind }) => kind },
  { header: 'Name', render: ({ name }) => name, breaksWords: true },
  { header: 'Notes', render: ({ message }) => message ?? '', breaksWords: true },
]

/** A plan, or what an import has done. */
export function ReportPanel({ report }: { report: Report }) {
  const { plan, created, updated, existing, skipped, source } = report
  const rows = report.items.map((item, index) => ({ ...item, id: String(index) }))
  return (
    <Panel
      title={plan ? `Plan: ${nameSource(source)}` : `Imported: ${nameSource(source)}`}
      description={
        plan ? 'Nothing is changed until you apply it.' : 'The audit log has an entry for each change.'
      }
    >
      <Text role="status">
        {created} created, {updated} updated, {existing} existing, {skipped} skipped
      </Text>
      <DataTable columns={columns} rows={rows} keyOf={({ id }) => id} minWidth={640} />
    </Panel>
  )
}
