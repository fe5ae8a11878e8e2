import { Box, Paper, Text } from '@mantine/core'
import { useTable } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { columns, features, type LoggedRequest, layouts } from './columns.tsx'

const rowHeight = 40
/** Rows before the end of the list at which the next page is loaded. */
const loadAhead = 20

interface RequestTableProps {
  rows: LoggedRequest[]
  visibility: Record<string, boolean>
  onOpen: (id: string) => void
  onHover: (isOver: boolean) => void
  onNearEnd: () => void
  /** Below the last row. */
  footer: ReactNode
}

/**
 * Only the rows that can be seen are in the document. Arrow keys move, Enter opens.
 * No table element, because virtual rows are placed by transform.
 */
export function RequestTable({ rows, visibility, onOpen, onHover, onNearEnd, footer }: RequestTableProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const table = useTable({
    features,
    columns,
    data: rows,
    getRowId: ({ id }) => id,
    state: { columnVisibility: visibility },
  })
  const { virtualizer, items } = useVirtualRows(rows, scroller, onNearEnd)
  const { activeIndex, moveTo, setActiveId } = useActiveRow(rows, (index) => virtualizer.scrollToIndex(index))
  const visible = table.getVisibleLeafColumns()
  const template = visible.map(({ id }) => `minmax(${layouts[id]?.width ?? 120}px, 1fr)`).join(' ')
  const width = visible.reduce((sum, { id }) => sum + (layouts[id]?.width ?? 120), 0)
  const tableRows = table.getRowModel().rows
  return (
    <Paper withBorder ref={scroller} style={{ overflow: 'auto', maxHeight: '65vh' }}>
      <Box
        role="grid"
        aria-label="Requests"
        aria-rowcount={rows.length + 1}
        style={{ minWidth: width }}
        onPointerEnter={() => onHover(true)}
        onPointerLeave={() => onHover(false)}
        onKeyDown={(event) =>
          handleKey(event, activeIndex, moveTo, () => onOpen(rows[activeIndex]?.id ?? ''))
        }
      >
        <HeaderRow labels={visible.map(({ id }) => layouts[id]?.label ?? id)} template={template} />
        <Box role="rowgroup" style={{ height: virtualizer.getTotalSize(), position: 'relative' }}>
          {items.map(({ index, start, key }) => {
            const row = tableRows[index]
            if (!row) return null
            return (
              <Box
                key={key}
                id={`row-${row.id}`}
                role="row"
                aria-rowindex={index + 2}
                tabIndex={index === activeIndex ? 0 : -1}
                onFocus={() => setActiveId(row.id)}
                onClick={() => onOpen(row.id)}
                style={{ ...rowStyle, gridTemplateColumns: template, transform: `translateY(${start}px)` }}
              >
                {row.getVisibleCells().map((cell) => (
                  <Box key={cell.id} role="gridcell" style={cellStyle}>
                    <table.FlexRender cell={cell} />
                  </Box>
                ))}
              </Box>
            )
          })}
        </Box>
      </Box>
      <Text size="sm" c="dimmed" p="xs" component="div" style={{ position: 'sticky', left: 0 }}>
        {footer}
      </Text>
    </Paper>
  )
}

function useVirtualRows(
  rows: LoggedRequest[],
  scroller: RefObject<HTMLDivElement | null>,
  onNearEnd: () => void,
) {
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 12,
  })
  const items = virtualizer.getVirtualItems()
  const lastIndex = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (lastIndex >= rows.length - loadAhead) onNearEnd()
  }, [lastIndex, rows.length, onNearEnd])
  return { virtualizer, items }
}

/** The row that the keyboard is at. New rows above do not change it. */
function useActiveRow(rows: LoggedRequest[], scrollTo: (index: number) => void) {
  const [activeId, setActiveId] = useState<string | null>(null)
  const activeIndex = Math.max(
    rows.findIndex(({ id }) => id === activeId),
    0,
  )
  const moveTo = (index: number) => {
    const row = rows[Math.min(Math.max(index, 0), rows.length - 1)]
    if (!row) return
    setActiveId(row.id)
    scrollTo(rows.indexOf(row))
    requestAnimationFrame(() => document.getElementById(`row-${row.id}`)?.focus({ preventScroll: true }))
  }
  return { activeIndex, moveTo, setActiveId }
}

function HeaderRow({ labels, template }: { labels: string[]; template: string }) {
  return (
    <Box role="rowgroup" style={{ position: 'sticky', top: 0, zIndex: 1 }}>
      <Box
        role="row"
        aria-rowindex={1}
        style={{ ...gridStyle, gridTemplateColumns: template, background: 'var(--mantine-color-body)' }}
      >
        {labels.map((label) => (
          <Box key={label} role="columnheader" style={{ ...cellStyle, fontWeight: 600 }}>
            {label}
          </Box>
        ))}
      </Box>
    </Box>
  )
}

function handleKey(
  event: KeyboardEvent,
  index: number,
  moveTo: (index: number) => void,
  open: () => void,
): void {
  const targets: Record<string, number> = {
    ArrowDown: index + 1,
    ArrowUp: index - 1,
    PageDown: index + 10,
    PageUp: index - 10,
    Home: 0,
    End: Number.MAX_SAFE_INTEGER,
  }
  const target = targets[event.key]
  if (target === undefined && event.key !== 'Enter') return
  event.preventDefault()
  if (target === undefined) open()
  else moveTo(target)
}

const gridStyle = {
  display: 'grid',
  height: rowHeight,
  alignItems: 'center',
  borderBottom: '1px solid var(--mantine-color-default-border)',
  fontSize: 'var(--mantine-font-size-sm)',
} as const

const rowStyle = {
  ...gridStyle,
  position: 'absolute',
  top: 0,
  left: 0,
  right: 0,
  cursor: 'pointer',
} as const

const cellStyle = {
  padding: '0 10px',
  overflow: 'hidden',
  textOverflow: 'ellipsis',
  whiteSpace: 'nowrap',
} as const
