/** The mark of the product: an answer, and in it the first letter of what it is made of. Its name stands beside it. */
export function Logo({ className = "size-6" }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" className={`shrink-0 ${className}`} data-logo>
      <path
        d="M8 1h16a7 7 0 0 1 7 7v13a7 7 0 0 1-7 7h-9l-6 4v-4H8a7 7 0 0 1-7-7V8a7 7 0 0 1 7-7z"
        fill="var(--accent)"
      />
      <path
        d="M9.5 21V8.5l6.5 7 6.5-7V21"
        fill="none"
        stroke="var(--on-accent)"
        strokeWidth="2.75"
        strokeLinejoin="round"
        strokeLinecap="round"
      />
    </svg>
  );
}
