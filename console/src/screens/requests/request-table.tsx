import { Box, Paper, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useTable } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { rememberRequestList } from '../../components/request-list.ts'
import { useDensity } from '../../theme/density.ts'
import { densities } from '../../theme/tokens.ts'
import { columns, features, type LoggedRequest, layouts } from './columns.tsx'

/** Rows before the end of the list at which the next page is loaded. */
const loadAhead = 20

interface RequestTableProps {
  rows: LoggedRequest[]
  visibility: Record<string, boolean>
  onHover: (isOver: boolean) => void
  onNearEnd: () => void
  /** Content below the last row. */
  footer: ReactNode
}

/**
 * Only the rows that can be seen are in the document. Each is covered by a link; arrow keys move between these.
 * No table element, because virtual rows are placed by transform.
 */
export function RequestTable({ rows, visibility, onHover, onNearEnd, footer }: RequestTableProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const table = useTable({
    features,
    columns,
    data: rows,
    getRowId: ({ id }) => id,
    state: { columnVisibility: visibility },
  })
  const { rowHeight } = densities[useDensity()[0]]
  const { virtualizer, items } = useVirtualRows(rows, rowHeight, scroller, onNearEnd)
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
        onKeyDown={(event) => handleKey(event, activeIndex, moveTo)}
      >
        <HeaderRow ids={visible.map(({ id }) => id)} template={template} height={rowHeight} />
        <Box role="rowgroup" style={{ height: virtualizer.getTotalSize(), position: 'relative' }}>
          {items.map(({ index, start, key }) => {
            const row = tableRows[index]
            if (!row) return null
            return (
              <Box
                key={key}
                role="row"
                aria-rowindex={index + 2}
                onFocus={() => setActiveId(row.id)}
                onClickCapture={() =>
                  rememberRequestList(
                    tableRows.map(({ id }) => id),
                    row.id,
                  )
                }
                style={{
                  ...rowStyle,
                  height: rowHeight,
                  gridTemplateColumns: template,
                  transform: `translateY(${start}px)`,
                }}
              >
                {row.getVisibleCells().map((cell, place) => (
                  <Box key={cell.id} role="gridcell" style={styleOf(cell.column.id)}>
                    {place === 0 && <RowLink id={row.id} isActive={index === activeIndex} />}
                    <CellContent id={row.id} hasHint={layouts[cell.column.id]?.hasHint}>
                      <table.FlexRender cell={cell} />
                    </CellContent>
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

/** Covers the row, so that it opens as any link does: in a new tab, by its menu, with Enter. */
function RowLink({ id, isActive }: { id: string; isActive: boolean }) {
  return (
    <Link
      id={linkIdOf(id)}
      to="/requests/$id"
      params={{ id }}
      aria-label={`Request ${id}`}
      tabIndex={isActive ? 0 : -1}
      style={{ position: 'absolute', inset: 0, outlineOffset: -2 }}
    />
  )
}

const linkIdOf = (id: string) => `open-${id}`

interface CellContentProps {
  id: string
  hasHint: boolean | undefined
  children: ReactNode
}

/** Content of a cell. Content with a hint must be above the link of the row for hovering, so it is a link, too. */
function CellContent({ id, hasHint = false, children }: CellContentProps) {
  if (!hasHint) return children
  return (
    <Link
      to="/requests/$id"
      params={{ id }}
      tabIndex={-1}
      style={{ position: 'relative', color: 'inherit', textDecoration: 'none' }}
    >
      {children}
    </Link>
  )
}

function useVirtualRows(
  rows: LoggedRequest[],
  rowHeight: number,
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
    requestAnimationFrame(() => document.getElementById(linkIdOf(row.id))?.focus({ preventScroll: true }))
  }
  return { activeIndex, moveTo, setActiveId }
}

interface HeaderRowProps {
  /** Ids of the columns. */
  ids: string[]
  template: string
  height: number
}

function HeaderRow({ ids, template, height }: HeaderRowProps) {
  return (
    <Box role="rowgroup" style={{ position: 'sticky', top: 0, zIndex: 1 }}>
      <Box
        role="row"
        aria-rowindex={1}
        style={{
          ...gridStyle,
          height,
          gridTemplateColumns: template,
          background: 'var(--mantine-color-body)',
        }}
      >
        {ids.map((id) => (
          <Box key={id} role="columnheader" style={{ ...styleOf(id), ...headerStyle }}>
            {layouts[id]?.label ?? id}
          </Box>
        ))}
      </Box>
    </Box>
  )
}

function handleKey(event: KeyboardEvent, index: number, moveTo: (index: number) => void): void {
  const targets: Record<string, number> = {
    ArrowDown: index + 1,
    ArrowUp: index - 1,
    PageDown: index + 10,
    PageUp: index - 10,
    Home: 0,
    End: Number.MAX_SAFE_INTEGER,
  }
  const target = targets[event.key]
  if (target === undefined) return
  event.preventDefault()
  moveTo(target)
}

const gridStyle = {
  display: 'grid',
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
} as const

const cellStyle = {
  padding: '0 10px',
  overflow: 'hidden',
  textOverflow: 'ellipsis',
  whiteSpace: 'nowrap',
} as const

const headerStyle = {
  color: 'var(--mantine-color-dimmed)',
  fontSize: 'var(--mantine-font-size-xs)',
  fontWeight: 500,
} as const

function styleOf(id: string) {
  return layouts[id]?.isNumber
    ? { ...cellStyle, textAlign: 'right' as const, fontVariantNumeric: 'tabular-nums' }
    : cellStyle
}
