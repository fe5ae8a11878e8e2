import { Button, Checkbox, Group, Popover, Stack, Text } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { formatCsv } from '../format/csv.ts'
import { formatCount } from '../format/number.ts'
import type { Column } from './data-table.tsx'
import { downloadText } from './download.ts'
import type { Selection } from './use-selection.ts'

/** The columns that the person has hidden, kept in the browser. */
export function useHiddenColumns(table: string) {
  const [hidden, setHidden] = useLocalStorage<string[]>({
    key: `headgate-hidden-columns-${table}`,
    defaultValue: [],
    getInitialValueInEffect: false,
  })
  // The browser may have anything there.
  return { hidden: Array.isArray(hidden) ? hidden : [], setHidden }
}

interface ColumnMenuProps<Row> {
  columns: readonly Column<Row>[]
  hidden: string[]
  onChange: (hidden: string[]) => void
}

/** Chooses the columns of a table. The first one stays, and so do buttons. */
export function ColumnMenu<Row>({ columns, hidden, onChange }: ColumnMenuProps<Row>) {
  return (
    <Popover trapFocus returnFocus shadow="md" position="bottom-end">
      <Popover.Target>
        <Button size="xs" variant="default">
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap={6}>
          {columns
            .slice(1)
            .filter(({ isHeaderHidden }) => !isHeaderHidden)
            .map(({ header }) => (
              <Checkbox
                key={header}
                size="xs"
                label={header}
                checked={!hidden.includes(header)}
                onChange={(event) =>
                  onChange(
                    event.currentTarget.checked
                      ? hidden.filter((name) => name !== header)
                      : [...hidden, header],
                  )
                }
              />
            ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}

/** Saves the rows as CSV, with the columns that are shown. */
export function exportRows<Row>(name: string, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  const exported = columns.flatMap(({ header, csv }) => (csv ? [{ header, csv }] : []))
  downloadText(
    name,
    formatCsv([
      exported.map(({ header }) => header),
      ...rows.map((row) => exported.map(({ csv }) => csv(row))),
    ]),
  )
}

interface BulkBarProps {
  selection: Selection
  /** Buttons for what can be done with the chosen rows. */
  children: ReactNode
}

/** Appears while rows are chosen. */
export function BulkBar({ selection: { selected, clear }, children }: BulkBarProps) {
  if (selected.size === 0) return null
  return (
    <Group gap="xs" role="toolbar" aria-label="Selected rows">
      <Text size="sm" fw={600} role="status">
        {formatCount(selected.size)} selected
      </Text>
      {children}
      <Button size="xs" variant="subtle" onClick={clear}>
        Clear selection
      </Button>
    </Group>
  )
}
