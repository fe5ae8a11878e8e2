import { formatAge, formatTime, formatUtc } from '../format/time.ts'

/** A moment in the zone of the viewer, with UTC on hover. */
export function Time({ iso, style = 'full' }: { iso: string | null; style?: 'full' | 'age' }) {
  if (!iso) return <>–</>
  const isAge = style === 'age'
  return (
    <time dateTime={iso} title={isAge ? `${formatTime(iso)} · ${formatUtc(iso)}` : formatUtc(iso)}>
      {isAge ? formatAge(iso) : formatTime(iso)}
    </time>
  )
}
