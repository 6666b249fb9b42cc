"""The 13 clusters and 55 subdomains that tasks are sorted into, after O*NET / SOC 2018."""

from __future__ import annotations

CLUSTERS: dict[str, dict[str, str]] = {
    "engineering": {
        "1.1": "Aerospace & Mechanical Engineering",
        "1.2": "Electronics Engineering",
        "1.3": "Civil, Architectural & Geospatial Engineering",
        "1.4": "Chemical & Process Engineering",
        "1.5": "Manufacturing & Industrial Systems",
        "1.6": "Energy, Power & Nuclear Engineering",
        "1.7": "Petroleum, Mining & Geological Engineering",
        "1.8": "Semiconductor & Microelectronics Design",
        "1.9": "Telecommunications & Signal Engineering",
        "1.10": "Urban & Spatial Planning",
        "1.11": "Robotics & Autonomous Systems",
    },
    "physical_sciences": {
        "2.1": "Physics",
        "2.2": "Chemistry & Materials Computation",
        "2.3": "Astronomy & Astrophysics",
        "2.4": "Earth & Atmospheric Sciences",
    },
    "life_sciences": {
        "3.1": "Biomolecular Structure & Design",
        "3.2": "Genomics & Sequence Analysis",
        "3.3": "Cell & Imaging Biology",
        "3.4": "Systems & Microbial Biology",
    },
    "health_medicine": {
        "4.1": "Clinical Diagnostics & Imaging",
        "4.2": "Therapeutic & Oncology Services",
        "4.3": "Clinical Informatics & Care Operations",
        "4.4": "Public Health & Epidemiology",
        "4.5": "Clinical Research & Trial Operations",
    },
    "psychology_neuro": {
        "5.1": "Computational Neuroscience",
        "5.2": "Experimental Psychology & Neuroimaging",
    },
    "business_finance": {
        "6.1": "Accounting & Finance",
        "6.2": "Actuarial & Risk Modeling",
        "6.3": "Enterprise Analytics & Planning",
        "6.4": "Compliance & Regulatory",
        "6.5": "HR & Project Management",
        "6.6": "Sales & Marketing",
        "6.7": "Quantitative Finance & Trading",
        "6.8": "Supply Chain & Logistics",
    },
    "legal": {
        "7.1": "Litigation Support & Discovery",
        "7.2": "Doctrinal Legal Research",
    },
    "visual_media": {
        "8.1": "3D, Animation & Interactive Media",
        "8.2": "Graphic, Visual & Product Design",
        "8.3": "Writing, Journalism & Publishing",
        "8.4": "Audio, Music & Post-Production Media",
    },
    "computing_math": {
        "9.1": "Software Engineering",
        "9.2": "Data & Analytics Engineering",
        "9.3": "AI Engineering, Safety & CS Research",
        "9.4": "Mathematical & Operations Research",
        "9.5": "Cybersecurity & Digital Forensics",
        "9.6": "Infrastructure Engineering & Cloud Operations",
        "9.7": "Quantum Computing",
    },
    "transport_safety": {
        "10.1": "Transportation & Aviation Operations",
        "10.3": "Fire Science & Public Safety",
    },
    "education_info": {
        "11.1": "Educational Technology",
        "11.2": "Library & Information Science",
        "11.3": "Translation & Localization",
    },
    "agriculture_env": {
        "12.1": "Environmental Modeling, Engineering & Water Resources",
        "12.2": "Precision Agriculture",
    },
    "social_sciences": {
        "13.1": "Economics & Quantitative Social Research",
    },
}
"""Cluster → subdomain id → subdomain name."""

SUBDOMAINS: dict[str, str] = {number: name for subdomains in CLUSTERS.values() for number, name in subdomains.items()}
