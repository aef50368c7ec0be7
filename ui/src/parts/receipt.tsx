import { formatNumber, say } from "../texts";

/** What was erased: rows by table. */
export function Receipt({ rows }: { rows: Record<string, number> }) {
  return (
    <>
      <p className="mb-2">{say("memory.erased")}</p>
      <table className="data">
        <tbody>
          {Object.entries(rows)
            .filter(([, count]) => count > 0)
            .map(([table, count]) => (
              <tr key={table}>
                <th scope="row">{table}</th>
                <td>{formatNumber(count)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </>
  );
}
