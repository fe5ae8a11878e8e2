/** The clock that all nodes share, as an ISO time. */
export const databaseTime = toIsoTime('clock_timestamp()')

/** That clock after a number of milliseconds. */
export function databaseTimeIn(ms: string): string {
  return toIsoTime(`clock_timestamp() + cast(${ms} as integer) * interval '1 millisecond'`)
}

function toIsoTime(time: string): string {
  return `to_char((${time}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}
