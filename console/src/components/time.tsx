import { formatAge, formatShortTime, formatTime, formatUtc } from '../format/time.ts'

interface TimeProps {
  iso: string | null
  /** `short` leaves out the year of this year. */
  style?: 'full' | 'short' | 'age'
}

/** A moment in the zone of the viewer, with UTC on hover. */
export function Time({ iso, style = 'full' }: TimeProps) {
  if (!iso) return <>–</>
  const isAge = style === 'age'
  return (
    <time dateTime={iso} title={isAge ? `${formatTime(iso)} · ${formatUtc(iso)}` : formatUtc(iso)}>
      {isAge ? formatAge(iso) : style === 'short' ? formatShortTime(iso) : formatTime(iso)}
    </time>
  )
}
