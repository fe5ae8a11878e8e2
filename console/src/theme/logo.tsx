/** The sign of the product: an H that is a gate in a channel. The favicon is the same drawing: src/http/pages/logo.ts. */
export function Logo({ size = 24 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" style={{ flex: 'none' }}>
      <rect width="32" height="32" rx="8" fill="#2a56db" />
      <path d="M9 7.5v17M23 7.5v17M9 13.5h14" stroke="#fff" strokeWidth="3.2" strokeLinecap="round" />
      <path
        d="M12.8 21.2c1.1-1.3 2.1-1.3 3.2 0s2.1 1.3 3.2 0"
        fill="none"
        stroke="#93b6fb"
        strokeWidth="2.4"
        strokeLinecap="round"
      />
    </svg>
  )
}
