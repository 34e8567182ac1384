/* The look of a page, for screens of any size and for print, and its first and last lines. */
#include <time.h>

#include "markup.h"
#include "report_page.h"
#include "report_table.h"
#include "rpinn/version.h"

static const char style[] =
    ":root{color-scheme:light}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;padding:1.5rem 1.25rem 3rem;max-width:72rem;background:#fff;color:#111827;"
    "font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif}"
    "h1{font-size:1.9rem;line-height:1.2;margin:0;overflow-wrap:anywhere}"
    "h1 span{font-weight:400;color:#4b5563;white-space:nowrap}h1 span::before{content:\"\\00b7  \"}"
    "h2{font-size:1.25rem;margin:2.25rem 0 .75rem;padding-bottom:.3rem;border-bottom:1px solid #d1d5db}"
    "h3{font-size:1.05rem;margin:1.25rem 0 .5rem}"
    "p{margin:.5rem 0;max-width:48rem}"
    "code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;"
    "font-size:.875em}"
    "pre{overflow-x:auto;background:#f9fafb;border:1px solid #e5e7eb;border-radius:.4rem;padding:.75rem}"
    ".lead{color:#374151;font-size:1.05rem}"
    ".facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.75rem 1.25rem;"
    "margin:1.25rem 0;padding:0}"
    ".facts div{border-left:3px solid #0072b2;padding-left:.6rem;min-width:0}"
    ".facts dt{font-size:.8rem;color:#4b5563}"
    ".facts dd{margin:0;font-weight:600;overflow-wrap:anywhere}"
    ".verdict,.warnings,.fine{border:1px solid #9ca3af;border-left:5px solid #009e73;border-radius:.4rem;"
    "padding:.6rem 1rem;margin:1.25rem 0}"
    ".verdict.fair,.warnings{border-color:#d97706;background:#fffbeb}"
    ".verdict.bad{border-color:#b91c1c;background:#fef2f2}"
    ".verdict ul,.warnings ul{margin:.4rem 0;padding-left:1.2rem}"
    ".verdict li,.warnings li{margin:.3rem 0;max-width:52rem}"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:1.25rem "
    "2rem}"
    ".maps{grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr))}"
    ".maps figure{max-width:28rem}"
    ".panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,15rem),1fr));gap:.75rem 1rem}"
    ".panels div{min-width:0;max-width:24rem}"
    ".panels p{font-size:.9rem;margin:0;overflow-wrap:anywhere}"
    "figure.wide{max-width:none;margin-bottom:1.25rem;break-inside:auto}"
    "figure{margin:0;min-width:0;max-width:40rem;break-inside:avoid}"
    "figcaption{font-weight:600;font-size:.95rem;margin-bottom:.25rem}"
    "svg.plot{display:block;width:100%;height:auto;"
    "font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif}"
    ".keys{display:flex;flex-wrap:wrap;gap:.15rem 1.1rem;font-size:.875rem;color:#374151;margin:.25rem 0 0}"
    ".key{display:inline-flex;align-items:center;gap:.4rem}"
    ".swatch{width:26px;height:14px;flex:none}"
    ".scroll{overflow-x:auto;margin:.75rem 0}"
    "table{border-collapse:collapse;font-size:.925rem;font-variant-numeric:tabular-nums}"
    "th,td{padding:.35rem .8rem;border-bottom:1px solid #e5e7eb;text-align:right;white-space:nowrap}"
    "th{border-bottom:2px solid #9ca3af;font-weight:600;vertical-align:bottom}"
    "th:first-child,td:first-child,.text{text-align:left}"
    "td.long{white-space:normal;min-width:14rem}"
    "sub,sup{font-size:.7em;line-height:0}"
    ".note{font-size:.875rem;color:#4b5563}"
    "details{margin:.6rem 0}summary{cursor:pointer;font-weight:600}"
    ".settings{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),1fr));gap:0 2rem;"
    "margin:.5rem 0}"
    ".settings div{display:flex;justify-content:space-between;gap:1rem;border-bottom:1px solid #e5e7eb;"
    "padding:.15rem 0;min-width:0}"
    ".settings dd{margin:0;overflow-wrap:anywhere;text-align:right}"
    ".bar{width:120px;height:12px;vertical-align:middle}"
    "footer{margin-top:2.5rem;font-size:.875rem;color:#4b5563;border-top:1px solid "
    "#d1d5db;padding-top:.75rem}"
    "@media(max-width:30rem){body{padding:1rem .9rem 2rem}h1{font-size:1.5rem}"
    "th,td{padding:.3rem .5rem}.facts{grid-template-columns:1fr 1fr}}"
    "@media print{body{max-width:none;padding:0;font-size:10.5pt}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    "h2,h3{break-after:avoid}.scroll{overflow:visible}tr{break-inside:avoid}"
    ".figures{grid-template-columns:1fr 1fr}"
    ".panels{grid-template-columns:repeat(auto-fit,minmax(10rem,1fr))}.panels div{break-inside:avoid}"
    "details::details-content{content-visibility:visible;block-size:auto}}";

void rpinn_report_open_page(const char *title, const char *subtitle, RpinnText *page) {
  rpinn_text_append(
      page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n" RPINN_REPORT_MARK "\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
            "'unsafe-inline'; img-src data:\"/>\n<title>");
  rpinn_markup_text(page, title);
  rpinn_text_append(page, ", ");
  rpinn_markup_text(page, subtitle);
  rpinn_text_append(page, "</title>\n<style>%s</style>\n</head>\n<body>\n", style);
}

void rpinn_report_close_page(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  RpinnText *page = report->page;
  char date[64] = "";
  time_t now = time(NULL);
  struct tm parts;
  if (gmtime_r(&now, &parts)) strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &parts);
  rpinn_text_append(page, "<footer>rpinn %s, written %s. ", rpinn_version(), date);
  if (run) {
    rpinn_text_append(page, "The run took ");
    rpinn_markup_duration(page, run->seconds);
    rpinn_text_append(
        page,
        " on %zu thread%s. <code>rpinn run run.yaml</code> in its folder gives the same draws again; the "
        "numbers are in <code>summary.json</code>%s.",
        run->made_on_threads, rpinn_plural(run->made_on_threads),
        run->outputs.num_quantities ? " and <code>predictions.csv</code>" : "");
  }
  if (report->figures)
    rpinn_text_append(page, " The figures for print are in <code>figures</code> beside this page.");
  rpinn_text_append(page, "</footer>\n</body>\n</html>\n");
}
