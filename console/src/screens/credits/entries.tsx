import { Group, Select, Text, TextInput } from '@mantine/core'
import { api, client, type Schemas } from '../../api/client.ts'
import { useCursorPages } from '../../api/use-cursor-pages.ts'
import { Id } from '../../components/copy.tsx'
import { CursorList } from '../../components/cursor-list.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { Money } from '../../components/money.tsx'
import { Panel } from '../../components/panel.tsx'
import { Time } from '../../components/time.tsx'
import { formatLocalInput, readLocalInput } from '../../format/local-input.ts'
import { formatCount } from '../../format/number.ts'
import { type EntryFilters, entryTypes, readEntryFilters } from './entry-filters.ts'

const pageSize = 50

export function entriesOptions(filters: EntryFilters) {
  return api.queryOptions('get', '/credits/entries', { params: { query: { ...filters, limit: pageSize } } })
}

interface EntriesProps {
  filters: EntryFilters
  onChange: (filters: EntryFilters) => void
}

/** Lists additions and charges to the credits. */
export function Entries({ filters, onChange }: EntriesProps) {
  const query = useCursorPages(entriesOptions(filters), (position, signal) =>
    client.GET('/credits/entries', {
      params: { query: { ...filters, limit: pageSize, ...position } },
      signal,
    }),
  )
  const hasFilters = Object.keys(filters).length > 0
  return (
    <Panel
      title="Ledger entries"
      description="Newest first. A charge combines the requests that were settled together; old charges are combined by day."
    >
      <FilterFields filters={filters} onChange={onChange} />
      <CursorList
        query={query}
        more="Show older entries"
        empty={
          <Text size="sm">
            {hasFilters
              ? 'Nothing matches these filters.'
              : 'None yet. Added credits and the charges of requests appear here.'}
          </Text>
        }
      >
        {(rows) => (
          <DataTable columns={columns} rows={rows} keyOf={(entry) => entry.transaction_id} minWidth={560} />
        )}
      </CursorList>
    </Panel>
  )
}

function FilterFields({ filters, onChange }: EntriesProps) {
  const change = (changes: Record<string, string | null | undefined>) =>
    onChange(readEntryFilters({ ...filters, ...changes }))
  return (
    <Group gap="sm" align="flex-end">
      <Select
        label="Kind"
        placeholder="Any"
        size="xs"
        clearable
        data={entryTypes}
        value={filters.type ?? null}
        onChange={(type) => change({ type })}
      />
      {(['from', 'to'] as const).map((name) => (
        <TextInput
          key={name}
          label={name === 'from' ? 'From' : 'Until'}
          type="datetime-local"
          size="xs"
          value={formatLocalInput(filters[name])}
          onChange={(event) => change({ [name]: readLocalInput(event.currentTarget.value) })}
        />
      ))}
    </Group>
  )
}

const columns: Column<Schemas['CreditEntry']>[] = [
  {
    header: 'Time',
    render: ({ created_at, entry_count, last_entry_at }) => (
      <>
        <Time iso={created_at} />
        {entry_count !== null && (
          <Text size="xs" c="dimmed" component="div">
            {formatCount(entry_count)} charges until <Time iso={last_entry_at} />
          </Text>
        )}
      </>
    ),
  },
  { header: 'Kind', render: ({ type }) => entryTypes.find(({ value }) => value === type)?.label ?? type },
  { header: 'Amount', isNumber: true, render: ({ amount }) => <Money value={amount} /> },
  { header: 'Note', breaksWords: true, render: ({ note }) => note ?? '–' },
  { header: 'Transaction', render: ({ transaction_id }) => <Id value={transaction_id} /> },
]
